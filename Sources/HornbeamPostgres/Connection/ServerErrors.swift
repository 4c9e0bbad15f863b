// SPDX-License-Identifier: Apache-2.0
// Errors of the server and of the way to it, as codes that a program can switch over. The server's SQLSTATE decides,
// because its messages are in the language of its operator.

public import Hornbeam

extension HornbeamError.Code {
    /// The server can't be reached, has shut down, or has closed the connection. Trying again helps once it is back.
    public static let unreachable = HornbeamError.Code("unreachable")
    /// The server gave no answer for as long as the options allow.
    public static let timedOut = HornbeamError.Code("timedOut")
    /// The server doesn't let the user in, or not without a password.
    public static let authentication = HornbeamError.Code("authentication")
    /// The server may not be written to: a standby, or one that is set to read only.
    public static let readOnlyServer = HornbeamError.Code("readOnlyServer")
    /// The server has no room: its disk, or its memory, is full.
    public static let fullServer = HornbeamError.Code("fullServer")
    /// The server has ended a transaction that stood in the way of another one. Doing it again helps.
    public static let serialization = HornbeamError.Code("serialization")
    /// The server refuses a statement. The message has its words.
    public static let server = HornbeamError.Code("server")
    /// The mirror and the store don't have the same history: a standby was promoted that lacked the last batch, an
    /// older copy of the store took its place, or somebody else has written to the mirror. Nothing is written until
    /// `reconcile`.
    public static let diverged = HornbeamError.Code("diverged")
}

extension HornbeamError {
    /// Whether the mirror tries again by itself after this error.
    var passes: Bool {
        switch code {
        case .unreachable, .timedOut, .readOnlyServer, .fullServer, .serialization: true
        default: false
        }
    }

    /// Whether an object that was to be made exists already. Another session has made it meanwhile, perhaps one whose
    /// COMMIT seemed lost.
    var isMadeMeanwhile: Bool { code == .server && message.contains(#/says (23505|42P06|42P07),/#) }

    /// Returns the code for a SQLSTATE. The first two characters of a SQLSTATE are its class.
    static func code(ofState state: String) -> Code {
        switch state {
        case "40001", "40P01", "55P03": return .serialization
        case "57014", "25P03": return .timedOut
        case "25006": return .readOnlyServer
        default: break
        }
        switch state.prefix(2) {
        case "08", "57": return .unreachable
        case "28": return .authentication
        case "53": return state == "53300" ? .unreachable : state == "53400" ? .server : .fullServer
        default: return .server
        }
    }

    /// Returns the remedy for an error of this SQLSTATE, or nil if the server's words are enough.
    static func remedy(ofState state: String) -> String? {
        switch state {
        case "25006": "name the primary, or let target_session_attrs=read-write find it among several hosts"
        case "42501": "grant the user what it lacks, or name a schema that it owns"
        case "2BP01": "drop what depends on it, a view for instance, and make it anew afterwards"
        case "53100": "make room on the server; the mirror goes on by itself"
        case "3D000": "make the database first: createdb NAME"
        case "57014": "it took longer than the options' timeout, or copyTimeout, allow"
        case "54000": "if it is an index, drop it there: its keys have a limit"
        default: nil
        }
    }
}
