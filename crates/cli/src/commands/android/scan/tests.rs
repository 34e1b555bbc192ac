use toolway_android::host::adb::PermissionOwner;

use super::BridgeVariant;

#[test]
fn the_bridge_variant_depends_on_the_owner_of_the_permission() {
    let owner =
        |package: &str| PermissionOwner { package: package.to_owned(), protection: "normal".to_owned() };
    assert_eq!(BridgeVariant::from_owner(None), BridgeVariant::Defines);
    assert_eq!(BridgeVariant::from_owner(Some(&owner("com.clawseed.app"))), BridgeVariant::Uses);
    assert_eq!(BridgeVariant::from_owner(Some(&owner("dev.toolway.bridge"))), BridgeVariant::Installed);
    assert_eq!(
        BridgeVariant::Uses.describe(Some(&owner("com.example.finance"))),
        "use the variant that only uses ACCESS_TOOLS: com.example.finance already defines it"
    );
}
