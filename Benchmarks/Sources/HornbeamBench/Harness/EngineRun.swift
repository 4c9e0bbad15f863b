// SPDX-License-Identifier: Apache-2.0
// The engine of a run.

import BenchHarness

extension Run {
    private var type: any Engine.Type {
        get throws {
            guard let type = allEngines.first(where: { $0.name == engine }) else {
                throw BenchError("there is no engine \(engine) in this build")
            }
            return type
        }
    }

    func has(_ feature: Feature) throws -> Bool { try type.features.contains(feature) }

    func open(_ settings: StoreSettings = StoreSettings()) throws -> any Engine {
        try type.init(path: storePath, settings: settings)
    }
}
