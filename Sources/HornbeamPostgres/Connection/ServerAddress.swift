// SPDX-License-Identifier: Apache-2.0
// An address split into one for each host. libpq can try several hosts by itself, but it gives up a silent host only in
// blocking calls, which can't be cancelled.

private import CPostgres
import Hornbeam

/// The settings with which libpq connects to each host of an address.
struct ServerAddress {
    /// Keywords and values, for one host after the other.
    let hosts: [[(keyword: String, value: String)]]

    /// - Parameter address: a connection string or URL of libpq.
    init(_ address: String) throws(HornbeamError) {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(address, &message) else {
            let words = message.map { String(cString: $0).split(whereSeparator: \.isNewline).joined() } ?? "no memory"
            PQfreemem(message)
            throw HornbeamError(.invalid, "the address “\(address.shown())” is not a PostgreSQL address: \(words)")
        }
        defer { PQconninfoFree(options) }
        var given: [(keyword: String, value: String)] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { given.append((String(cString: keyword), String(cString: value))) }
            option += 1
        }
        // If a keyword comes twice, the last one counts: the address can override those before it.
        let settings =
            [
                ("fallback_application_name", "hornbeam"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
                ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
            ]
            + given + [("client_encoding", "UTF8")]
        hosts = Self.split(settings)
    }

    /// Splits settings by hosts. Hosts, addresses and ports are lists of one length, except that a single value is for
    /// all hosts.
    private static func split(
        _ settings: [(keyword: String, value: String)]
    ) -> [[(keyword: String, value: String)]] {
        let listed = ["host", "hostaddr", "port"]
        func list(_ keyword: String) -> [String] {
            let value = settings.last { $0.keyword == keyword }?.value
            return value?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        }
        let lists = listed.map { (keyword: $0, values: list($0)) }
        let count = max(lists[0].values.count, lists[1].values.count, 1)
        return (0..<count).map { number in
            settings.filter { !listed.contains($0.keyword) }
                + lists.compactMap { keyword, values in
                    guard let value = values.count == 1 ? values[0] : number < values.count ? values[number] : nil
                    else { return nil }
                    return (keyword, value)
                }
        }
    }
}
