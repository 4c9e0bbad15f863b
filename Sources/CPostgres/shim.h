// SPDX-License-Identifier: Apache-2.0
// The PostgreSQL client library, the system's libpq.
#pragma once
#include <libpq-fe.h>

// The fields of an error, which libpq defines as character constants.
typedef enum {
    HB_PG_SQLSTATE = PG_DIAG_SQLSTATE,
    HB_PG_MESSAGE = PG_DIAG_MESSAGE_PRIMARY,
    HB_PG_DETAIL = PG_DIAG_MESSAGE_DETAIL,
    HB_PG_CONTEXT = PG_DIAG_CONTEXT,
} PostgresErrorField;
