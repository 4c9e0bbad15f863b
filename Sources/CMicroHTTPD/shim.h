// SPDX-License-Identifier: Apache-2.0
// GNU libmicrohttpd, the system's HTTP server. Swift can't call functions with a variable number of arguments: here are
// the calls of these that the studio makes.
#pragma once
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Limits of the server: connections at once, seconds without a byte, bytes of a request's head, and connections that
// wait for one of the others to end.
enum { StudioConnections = 64, StudioSilence = 20, StudioHead = 32 * 1024, StudioWaiting = 4096 };

// A socket that listens at a port of this machine that no other machine reaches. Port 0 is any free one; `port` is the
// one that was found. Returns -1 and sets errno if the port is in use, or not allowed.
static inline int studio_listen(unsigned short *port) {
    int number = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0) return -1;
    int yes = 1;
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(*port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0
        && bind(number, (struct sockaddr *)&address, sizeof address) == 0 && listen(number, StudioWaiting) == 0
        && getsockname(number, (struct sockaddr *)&address, &size) == 0) {
        *port = ntohs(address.sin_port);
        return number;
    }
    close(number);
    return -1;
}

// Starts a server with a thread for each connection of a listening socket. Returns NULL if there is no memory or no
// thread for it.
static inline struct MHD_Daemon *studio_start(
    int listening, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback completed, void *owner) {
    return MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, handle, owner,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listening, MHD_OPTION_NOTIFY_COMPLETED, completed, owner,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned int)StudioConnections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned int)StudioSilence, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)StudioHead, MHD_OPTION_END);
}
