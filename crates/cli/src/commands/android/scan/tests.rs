use toolway_android::host::adb::PermissionOwner;

use super::Variant;

#[test]
fn the_bridge_s_variant_follows_from_who_defines_the_permission() {
    let owner =
        |package: &str| PermissionOwner { package: package.to_owned(), protection: "normal".to_owned() };
    assert_eq!(Variant::of(None), Variant::Defines);
    assert_eq!(Variant::of(Some(&owner("com.clawseed.app"))), Variant::Uses);
    assert_eq!(Variant::of(Some(&owner("dev.toolway.bridge"))), Variant::Installed);
    assert_eq!(
        Variant::Uses.in_words(Some(&owner("com.example.finance"))),
        "the variant that only uses ACCESS_TOOLS fits: com.example.finance defines it, and no second app may"
    );
}
