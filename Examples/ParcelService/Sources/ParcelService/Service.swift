// SPDX-License-Identifier: Apache-2.0
// The life of the service: settings, database, server, and closing them in the opposite order.

import Dispatch
import Glibc
import Hornbeam

/// Settings of the service, from its environment.
public struct Settings: Sendable {
    public var file = "parcels.hornbeam"
    public var host = "127.0.0.1"
    public var port: UInt16 = 8080

    public init(_ environment: [String: String]) throws {
        if let file = environment["PARCELS_FILE"] { self.file = file }
        if let host = environment["PARCELS_HOST"] { self.host = host }
        guard let text = environment["PARCELS_PORT"] else { return }
        guard let port = UInt16(text) else {
            throw ServerError(description: "PARCELS_PORT is “\(text)”: give a number up to 65535")
        }
        self.port = port
    }
}

public enum Service {
    /// Runs until SIGTERM or SIGINT. Then it accepts no more requests, answers those in progress, and closes the
    /// database, so that the next start has nothing to recover.
    public static func run(_ settings: Settings, _ health: Health) throws {
        // Before any thread is started, so that all threads leave the signals to the sources.
        let (ended, sources) = signals([SIGTERM, SIGINT])
        defer { for source in sources { source.cancel() } }
        var options = Database.Options()
        // The service that this one replaces may still be closing.
        options.lockWaitMilliseconds = 10_000
        options.log = Database.Log { health.take($0) }
        let database = try Database(at: settings.file, models: Parcel.self, options: options)
        do {
            let routes = Routes(database, health)
            let server = try Server(host: settings.host, port: settings.port) { routes.answer($0) }
            health.say("listening at \(settings.host):\(server.port)")
            ended.wait()
            health.say("ending")
            server.stop()
        } catch {
            try? database.close()
            throw error
        }
        try database.close()
    }

    private static func signals(_ numbers: [Int32]) -> (DispatchSemaphore, [any DispatchSourceSignal]) {
        let ended = DispatchSemaphore(value: 0)
        let sources = numbers.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { ended.signal() }
            source.resume()
            return source
        }
        return (ended, sources)
    }
}
