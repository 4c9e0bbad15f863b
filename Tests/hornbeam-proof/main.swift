// SPDX-License-Identifier: Apache-2.0
// Long runs of the proofs: hornbeam-proof <crash|hostile> <how many> [seed]. `make crash` and the like start one such
// process on each core.

import Glibc
import HornbeamProof

exit(ProofCommand.run(Array(CommandLine.arguments.dropFirst())))
