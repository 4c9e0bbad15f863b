// SPDX-License-Identifier: Apache-2.0
// Starts the command. Everything else is in the library beside it, where tests can reach it.

import HornbeamCommand

Program.main()
