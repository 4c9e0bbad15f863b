// SPDX-License-Identifier: Apache-2.0
// Long runs of the proofs: hornbeam-proof <crash|hostile> <how many> [seed]. `make crash` and its kin start as many of
// these processes as there are cores.

import Glibc
import HornbeamProof

exit(ProofCommand.run(Array(CommandLine.arguments.dropFirst())))
