// SPDX-License-Identifier: Apache-2.0
// GNU libmicrohttpd, the system's HTTP server. Swift can't call functions with a variable number of arguments, so the
// studio's calls of such functions are here.
#pragma once
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Limits of the server: connections at once, seconds without a byte, bytes of a connection's memory (which holds the
// head of a request), and connections that wait until they are accepted.
enum { StudioConnections = 64, StudioSilence = 20, StudioHead = 32 * 1024, StudioWaiting = 4096 };

// Opens a socket that listens at a port that only this machine can reach, and returns it. Port 0 stands for any free
// port; `port` becomes its number. Returns -1 and sets errno if the port is in use or not allowed.
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

// Starts a server on a listening socket, with a thread for each connection. Returns NULL if memory or threads run out.
static inline struct MHD_Daemon *studio_start(
    int listening, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback completed, void *owner) {
    return MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, handle, owner,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listening, MHD_OPTION_NOTIFY_COMPLETED, completed, owner,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned int)StudioConnections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned int)StudioSilence, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)StudioHead, MHD_OPTION_END);
}
