// SPDX-License-Identifier: Apache-2.0
// Decides which requests are answered. Only a browser that was opened with the printed address may ask:
//
// 1. Host is this server's own: a page of another name that is led to 127.0.0.1 (DNS rebinding) is refused.
// 2. Origin and Sec-Fetch-Site, where the browser sends them, are those of this page: other sites are refused, and so
//    are pages of other ports of this machine.
// 3. The token. The printed address has it in its query; the answer moves it into a cookie that scripts can't read and
//    that other sites don't send. Browsers send a cookie to all ports of a host, so it is bound to a folder of random
//    name: a server at another port, perhaps of another user, doesn't know the folder and can't ask for the cookie.

import Glibc

struct Door: Sendable {
    static let cookie = "hornbeam"

    /// In the printed address, and the cookie's value.
    let token: String
    /// The folder of all that the page asks for.
    let folder: String
    private let hosts: [String]

    init(port: UInt16, token: String = Self.random(), folder: String = Self.random()) {
        self.token = token
        self.folder = folder
        hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
    }

    /// The address to open in a browser.
    var address: String { "http://\(hosts[0])/?token=\(token)" }

    /// 128 bits in hexadecimal digits.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = String(generator.next(upperBound: UInt128.max), radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }

    /// The answer to a request that must not get further; nil for one that may.
    func refusal(of request: Request) -> Reply? {
        guard let host = request.header("Host")?.lowercased(), hosts.contains(host) else {
            return .refused(403, "this server answers only to the address that 'hornbeam studio' has printed")
        }
        if let origin = request.header("Origin"), origin.lowercased() != "http://\(host)" {
            return .refused(403, "requests of other sites are refused")
        }
        if let site = request.header("Sec-Fetch-Site"), site != "same-origin", site != "none" {
            return .refused(403, "requests of other sites are refused")
        }
        if request.method == "GET", request.path == "/", let given = request.argument("token") {
            guard isToken(given) else { return Self.noToken }
            return .redirect(
                to: "/\(folder)/", cookie: "\(Self.cookie)=\(token); Path=/\(folder)/; HttpOnly; SameSite=Strict")
        }
        guard let given = request.cookie(Self.cookie), isToken(given) else { return Self.noToken }
        return nil
    }

    private static let noToken = Reply.refused(
        401, "open the whole address that 'hornbeam studio' has printed: the page needs its token")

    /// Takes the same time wherever the two differ.
    private func isToken(_ given: String) -> Bool {
        let (given, token) = (Array(given.utf8), Array(token.utf8))
        guard given.count == token.count else { return false }
        return zip(given, token).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The name within the folder that a request asks for, or nil if it lies elsewhere.
    func name(_ path: String) -> String? {
        let start = "/\(folder)/"
        return path.hasPrefix(start) ? String(path.dropFirst(start.count)) : nil
    }
}
