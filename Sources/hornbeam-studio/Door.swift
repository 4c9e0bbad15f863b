// SPDX-License-Identifier: Apache-2.0
// Decides which requests are answered: only those of a browser that was opened with the printed address.
//
// 1. Host must be this server. A page under another name that was made to lead to 127.0.0.1 (DNS rebinding) is refused.
// 2. Origin and Sec-Fetch-Site, if the browser sends them, must be those of this page. Pages of other sites, and of
//    other ports of this machine, are refused.
// 3. The token must be right. The printed address has it in its query; the answer moves it into a cookie that scripts
//    can't read and other sites can't send. Browsers send a cookie to all ports of a host, so the cookie is bound to a
//    folder with a random name. A server at another port, perhaps another user's, doesn't know the folder, so browsers
//    don't send the cookie there.

import Glibc

struct Door: Sendable {
    static let cookie = "hornbeam"

    /// Part of the printed address, and the value of the cookie.
    let token: String
    /// Random name of the folder that holds the page and all that it requests.
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

    /// Returns the answer to a request that is refused, or that brings the token in its query. Returns nil if the
    /// request may go on.
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

    /// Compares in constant time, so that the time doesn't tell how much of a guess is right.
    private func isToken(_ given: String) -> Bool {
        let (given, token) = (Array(given.utf8), Array(token.utf8))
        guard given.count == token.count else { return false }
        return zip(given, token).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Returns the name within the folder that a request's path leads to, or nil if the path leads elsewhere.
    func name(_ path: String) -> String? {
        let start = "/\(folder)/"
        return path.hasPrefix(start) ? String(path.dropFirst(start.count)) : nil
    }
}
