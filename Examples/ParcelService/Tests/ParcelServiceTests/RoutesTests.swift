// SPDX-License-Identifier: Apache-2.0
// The answers of the service, without a network and without a file.

import Foundation
import Hornbeam
import ParcelService
import Testing

@Suite("The routes of the parcel service")
struct RoutesTests {
    private let routes: Routes

    init() throws {
        routes = Routes(try Database.inMemory(models: Parcel.self), Health { _ in })
    }

    private func put(_ id: Int, _ state: String) -> Response {
        let json = #"{"id":\#(id),"state":"\#(state)","address":"Oslo","grams":250}"#
        return routes.answer(Request("PUT", "/parcels/\(id)", body: Array(json.utf8)))
    }

    private func text(_ response: Response) -> String { String(decoding: response.body, as: UTF8.self) }

    @Test("A stored parcel can be read, listed by its state, and deleted")
    func life() {
        #expect(put(7, "waiting").status == 200 && put(8, "sent").status == 200)
        let one = routes.answer(Request("GET", "/parcels/7"))
        #expect(text(one) == #"{"address":"Oslo","grams":250,"id":7,"state":"waiting"}"#)
        #expect(text(routes.answer(Request("GET", "/parcels", state: "sent"))).contains(#""id":8"#))
        #expect(!text(routes.answer(Request("GET", "/parcels", state: "sent"))).contains(#""id":7"#))
        #expect(routes.answer(Request("DELETE", "/parcels/7")).status == 200)
        #expect(routes.answer(Request("DELETE", "/parcels/7")).status == 404)
        #expect(routes.answer(Request("GET", "/parcels/7")).status == 404)
    }

    @Test(
        "Bad requests are the client's fault",
        arguments: [
            (Request("PUT", "/parcels/7", body: Array("{".utf8)), 400),
            (Request("PUT", "/parcels/7", body: Array(#"{"id":8,"state":"","address":"","grams":1}"#.utf8)), 400),
            (Request("GET", "/parcels/x"), 404), (Request("GET", "/else"), 404), (Request("PATCH", "/parcels/7"), 405),
        ])
    func refused(_ request: Request, _ status: Int) {
        #expect(routes.answer(request).status == status)
    }

    @Test("Metrics and health")
    func figures() {
        let metrics = routes.answer(Request("GET", "/metrics"))
        #expect(metrics.type == "text/plain; version=0.0.4")
        #expect(text(metrics).contains("hornbeam_file_bytes{service=\"parcels\"} "))
        #expect(routes.answer(Request("GET", "/health")).status == 200)
    }
}
