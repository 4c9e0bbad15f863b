// SPDX-License-Identifier: Apache-2.0
// The studio answers only the browser that was opened with the printed address.

import Foundation
import Testing

@Suite("The studio's door")
struct StudioDoorTests {
    @Test("opens to the printed address, and moves its token into a cookie of the page's folder")
    func opens() throws {
        let (_, studio) = try Studios.shared()
        let reply = try HTTPConnection(studio.port).ask(
            "GET /?token=\(studio.token) HTTP/1.1\r\nHost: 127.0.0.1:\(studio.port)\r\n\r\n")
        #expect(reply.status == 303)
        #expect(
            reply.headers["set-cookie"]
                == "hornbeam=\(studio.token); Path=\(studio.folder); HttpOnly; SameSite=Strict")
        #expect(try studio.get("").status == 200)
    }

    @Test("stays shut without the token", arguments: ["", "hornbeam=", "hornbeam=0123", "other=1"])
    func withoutToken(cookie: String) throws {
        let (_, studio) = try Studios.shared()
        let host = "Host: 127.0.0.1:\(studio.port)"
        for path in ["/", "/?token=", "/?token=0", studio.folder, "\(studio.folder)api/store"] {
            let reply = try HTTPConnection(studio.port).ask(
                "GET \(path) HTTP/1.1\r\n\(host)\r\n\(cookie.isEmpty ? "" : "Cookie: \(cookie)\r\n")\r\n")
            #expect(reply.status == 401, "\(path)")
        }
        // The token, except for its last digit.
        let almost = String(studio.token.dropLast()) + (studio.token.hasSuffix("0") ? "1" : "0")
        let reply = try HTTPConnection(studio.port).ask(
            "GET \(studio.folder) HTTP/1.1\r\n\(host)\r\nCookie: hornbeam=\(almost)\r\n\r\n")
        #expect(reply.status == 401)
    }

    @Test("stays shut to other hosts and other sites, even with the token")
    func otherSites() throws {
        let (_, studio) = try Studios.shared()
        let own = "http://127.0.0.1:\(studio.port)"
        func status(host: String? = nil, _ more: String...) throws -> Int {
            try HTTPConnection(studio.port).ask(studio.head("api/store", host: host, more: more)).status
        }
        #expect(try status(host: "evil.example:\(studio.port)") == 403)
        #expect(try status(host: "127.0.0.1") == 403)
        #expect(try status(host: "localhost:\(studio.port)") == 200)
        #expect(try status("Origin: \(own)") == 200)
        #expect(try status("Origin: http://127.0.0.1:1") == 403)
        #expect(try status("Origin: null") == 403)
        #expect(try status("Sec-Fetch-Site: same-origin") == 200)
        // A page of another port of this machine.
        #expect(try status("Sec-Fetch-Site: same-site") == 403)
        #expect(try status("Sec-Fetch-Site: cross-site") == 403)
    }

    @Test("lets each name be asked for in its own way only")
    func methods() throws {
        let (_, studio) = try Studios.shared()
        func status(_ method: String, _ name: String, _ more: String...) throws -> Int {
            try HTTPConnection(studio.port).ask(studio.head(name, method: method, more: more)).status
        }
        #expect(try status("POST", "api/rows", "Content-Length: 0") == 405)
        #expect(try status("GET", "api/statement") == 405)
        #expect(try status("DELETE", "") == 405)
        #expect(try status("POST", "api/statement", "Content-Length: 0") == 415)
        #expect(try status("GET", "api/nothing") == 404)
        #expect(try status("GET", "../etc/passwd") == 404)
    }

    @Test("sends headers with each answer that keep the page to itself", arguments: ["", "app.js", "api/store", "no"])
    func headers(name: String) throws {
        let (_, studio) = try Studios.shared()
        let headers = try studio.get(name).headers
        #expect(headers["cache-control"] == "no-store")
        #expect(headers["x-content-type-options"] == "nosniff")
        #expect(headers["referrer-policy"] == "no-referrer")
        let policy = try #require(headers["content-security-policy"])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; "))
        #expect(!policy.contains("unsafe"))
        #expect(headers["access-control-allow-origin"] == nil)
    }

    @Test("lets in no more than a head and a body of a bounded length")
    func limits() throws {
        let (_, studio) = try Studios.shared()
        let long = try studio.get("", more: ["X-Long: " + String(repeating: "a", count: 40_000)])
        #expect([413, 431].contains(long.status))
        let told = studio.head(
            "api/statement", method: "POST", more: ["Content-Type: application/json", "Content-Length: 999999999999"])
        #expect(try HTTPConnection(studio.port).ask(told).status == 413)
        #expect(try studio.get("api/rows?type=City&count=1000000").status == 400)
        #expect(try studio.get("api/rows?type=City&from=-1").status == 400)
        #expect(try studio.run(String(repeating: "x", count: 3 << 20)).status == 413)
    }
}
