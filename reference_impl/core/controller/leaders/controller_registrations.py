"""Register controllers, so that the cluster knows their listeners and the features that they
support.

Source: ClusterControlManager.java (registerController); KIP-919.
"""

from __future__ import annotations

from reference_impl.core.controller.controller import Controller
from reference_impl.wire import Struct, definition

REGISTER = definition("RegisterControllerRecord")


def register_controller(controller: Controller, body: Struct) -> None:
    """Write the registration of a controller, which replaces its earlier one. A registration does
    not make the controller a voter of the quorum."""
    rows = [(each.name, each.host, each.port, each.security_protocol) for each in body.listeners]
    record = REGISTER.new(
        controller_id=body.controller_id,
        incarnation_id=body.incarnation_id,
        zk_migration_ready=body.zk_migration_ready,
        end_points=[
            REGISTER.struct(
                "ControllerEndpoint", name=name, host=host, port=port, security_protocol=protocol
            )
            for name, host, port, protocol in rows
        ],
        features=[
            REGISTER.struct(
                "ControllerFeature",
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in body.features
        ],
    )
    controller.write([record])
