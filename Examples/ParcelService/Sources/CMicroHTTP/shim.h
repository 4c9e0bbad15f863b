/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd for Swift, which can't call functions with a variable number of arguments. */

#ifndef PARCEL_MICROHTTP_H
#define PARCEL_MICROHTTP_H

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

/* A server at `host`, a numeric IPv4 address, and `port`; 0 takes a free port. NULL, with errno, if there can't be one. */
static inline struct MHD_Daemon *parcel_http_start(const char *host, uint16_t port, unsigned threads,
    MHD_AccessHandlerCallback answer, MHD_RequestCompletedCallback completed, void *context)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        errno = EINVAL;
        return NULL;
    }
    return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC, port, NULL, NULL, answer, context,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_LIMIT, 256u, MHD_OPTION_CONNECTION_TIMEOUT, 10u,
        MHD_OPTION_END);
}

static inline uint16_t parcel_http_port(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

#endif
