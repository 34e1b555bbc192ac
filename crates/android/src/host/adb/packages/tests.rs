use super::{ComponentName, PermissionOwner, authorities, components, installed, permission, resolvers};

fn named(text: &str) -> ComponentName {
    ComponentName::parse(text).unwrap()
}

#[test]
fn packages_have_a_path_with_equals_signs_and_a_version() {
    let text = "package:/data/app/~~GSfSdCYUCkDXHTY6qu0DAw==/com.example.a-fNrHlgqJDWTgDoY2Akzmgw==/base.apk=com.example.a versionCode:7\r\n\
                package:/system/app/B/B.apk=com.example.b versionCode:33\n\
                Error: something\n";
    let all = installed(text);
    assert_eq!(all.len(), 2);
    let a = &all["com.example.a"];
    assert_eq!(
        a.path,
        "/data/app/~~GSfSdCYUCkDXHTY6qu0DAw==/com.example.a-fNrHlgqJDWTgDoY2Akzmgw==/base.apk"
    );
    assert_eq!(a.version, "7");
}

#[test]
fn services_are_listed_one_per_line() {
    let got =
        components("com.example.finance/.clawseed.ToolProviderService\ncom.example.b/org.other.Service\n");
    let expected = [
        ComponentName { package: "com.example.b".to_owned(), class: "org.other.Service".to_owned() },
        ComponentName {
            package: "com.example.finance".to_owned(),
            class: "com.example.finance.clawseed.ToolProviderService".to_owned(),
        },
    ];
    assert_eq!(got.into_iter().collect::<Vec<_>>(), expected);
    assert!(components("No services found\n").is_empty());
}

const RESOLVERS: &str = "Provider Resolver Table:
  Full MIME Types:
      application/vnd.mcp.tool:
        1f2e3d com.example.weather/.McpToolProvider filter a1b2c3
          Action: \"android.intent.action.VIEW\"
          Type: \"application/vnd.mcp.tool\"

  Non-Data Actions:
      android.content.action.DOCUMENTS_PROVIDER:
        2f2e3d com.android.externalstorage/.ExternalStorageProvider filter b1b2c3
          Action: \"android.content.action.DOCUMENTS_PROVIDER\"
      se.premex.mcp.MCP_PROVIDER:
        3f2e3d com.example.calc/com.example.calc.Provider filter c1b2c3
";

#[test]
fn providers_are_found_by_action_or_type() {
    let got = resolvers(RESOLVERS, &["application/vnd.mcp.tool", "se.premex.mcp.MCP_PROVIDER"]);
    let expected = [named("com.example.calc/.Provider"), named("com.example.weather/.McpToolProvider")];
    assert_eq!(got.into_iter().collect::<Vec<_>>(), expected);
    assert!(resolvers(RESOLVERS, &["android.intent.action.VIEW"]).is_empty());
}

#[test]
fn authorities_have_one_owner_each() {
    let text = "Registered ContentProviders:
  com.example.finance/.Tools:
    Provider{1f com.example.finance/.Tools}

ContentProvider Authorities:
  [com.example.finance.clawseed.tools]:
    Provider{1f com.example.finance/.Tools}
      applicationInfo=ApplicationInfo{2a com.example.finance}
  [com.example.other]:
    Provider{2f com.example.other/org.elsewhere.Provider}
      applicationInfo=ApplicationInfo{3a com.example.other}
";
    let got = authorities(text);
    assert_eq!(got.len(), 2);
    assert_eq!(got["com.example.finance.clawseed.tools"], named("com.example.finance/.Tools"));
    assert_eq!(got["com.example.other"].class, "org.elsewhere.Provider");
}

#[test]
fn the_owner_of_a_permission_is_in_its_block() {
    let text = "Permissions:
  Permission [com.example.permission.OTHER] (fe54118):
    sourcePackage=android
    uid=1000 gids=[] type=0 prot=signature
  Permission [com.clawseed.permission.ACCESS_TOOLS] (3f66163):
    sourcePackage=com.clawseed.app
    uid=10057 gids=[] type=0 prot=normal
    perm=PermissionInfo{847ac21 com.clawseed.permission.ACCESS_TOOLS}
  Permission [com.example.permission.THIRD] (fe54119):
    sourcePackage=com.example.third
";
    let owner = |package: &str, protection: &str| {
        Some(PermissionOwner { package: package.to_owned(), protection: protection.to_owned() })
    };
    assert_eq!(permission(text, "com.clawseed.permission.ACCESS_TOOLS"), owner("com.clawseed.app", "normal"));
    assert_eq!(permission(text, "com.example.permission.THIRD"), owner("com.example.third", ""));
    assert_eq!(permission(text, "com.example.permission.FOURTH"), None);
    assert_eq!(permission("Permission [a]:\n  sourcePackage=null\n", "a"), None);
}

#[test]
fn activities_are_listed_one_per_line() {
    let found = components("com.example.finance/.Main\ncom.example.finance/org.other.Screen\n");
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [named("com.example.finance/.Main"), named("com.example.finance/org.other.Screen")]
    );
    assert_eq!(components("No activities found\n").len(), 0);
}

#[test]
fn invalid_components_are_ignored() {
    for text in ["", "a", "/", "a/", "/b", "a/b/c", "a b/c", "a/b c", "a/\u{1}", "\"a/b\""] {
        assert_eq!(ComponentName::parse(text), None, "{text:?}");
    }
}
