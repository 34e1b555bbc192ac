package dev.toolway.host;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.content.Intent;
import android.content.IntentFilter;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.phone.Manifests;
import dev.toolway.phone.Phone;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.shadows.ShadowPackageParser;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** Tests the consumer's manifest. Without its entries, an app sees no provider from Android 11. */
@RunWith(RobolectricTestRunner.class)
public class ManifestTest {
    private static final String ANDROID = "http://schemas.android.com/apk/res/android";

    private static Path manifest() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("android/host/AndroidManifest.xml"))) {
            folder = folder.getParent();
        }
        return folder.resolve("android/host/AndroidManifest.xml");
    }

    private static Document read() throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        return factory.newDocumentBuilder().parse(new File(manifest().toString()));
    }

    /** The intents in the manifest's {@code <queries>}. */
    private static List<Intent> queries() throws Exception {
        List<Intent> intents = new ArrayList<>();
        NodeList found = ((Element) read().getElementsByTagName("queries").item(0)).getElementsByTagName("intent");
        for (int i = 0; i < found.getLength(); i++) {
            Element query = (Element) found.item(i);
            Intent intent = new Intent(((Element) query.getElementsByTagName("action").item(0))
                .getAttributeNS(ANDROID, "name"));
            NodeList data = query.getElementsByTagName("data");
            if (data.getLength() > 0) {
                intent.setType(((Element) data.item(0)).getAttributeNS(ANDROID, "mimeType"));
            }
            intents.add(intent);
        }
        return intents;
    }

    /** Returns true if the queries make an app visible: one of its components handles one of the intents. */
    @SuppressWarnings("deprecation") // The parser that Robolectric uses for packages.
    private static boolean isSeen(Path apk, List<Intent> queries) {
        android.content.pm.PackageParser.Package app = ShadowPackageParser.callParsePackage(apk);
        List<IntentFilter> filters = new ArrayList<>();
        app.services.forEach(service -> filters.addAll(service.intents));
        app.providers.forEach(provider -> filters.addAll(provider.intents));
        app.activities.forEach(activity -> filters.addAll(activity.intents));
        return filters.stream().anyMatch(filter -> queries.stream().anyMatch(query -> filter.match(query.getAction(),
            query.getType(), query.getScheme(), query.getData(), query.getCategories(), "test") >= 0));
    }

    @Test
    public void providers_of_every_dialect_are_visible_and_no_others_a7() throws Exception {
        String provider = FinanceByHand.class.getName();
        List<Intent> queries = queries();
        assertTrue("CETP", isSeen(
            Manifests.apk("a.cetp", "A", Manifests.cetp(".S", provider, "a.cetp.tools", "1")), queries));
        assertTrue("MCP by type", isSeen(
            Manifests.apk("a.type", "A", Manifests.mcpType(provider, "a.type.tools")), queries));
        assertTrue("MCP by action", isSeen(
            Manifests.apk("a.action", "A", Manifests.mcpAction(provider, "a.action.tools")), queries));
        assertFalse("an app without tools", isSeen(Manifests.apk("a.other", "A",
            "<activity android:name=\".Main\" android:exported=\"true\"><intent-filter>"
                + "<action android:name=\"android.intent.action.MAIN\" /></intent-filter></activity>"), queries));
    }

    @Test
    public void the_permissions_of_every_dialect_are_requested_and_none_is_defined_a7() throws Exception {
        Set<String> asked = new HashSet<>();
        NodeList found = read().getElementsByTagName("uses-permission");
        for (int i = 0; i < found.getLength(); i++) {
            asked.add(((Element) found.item(i)).getAttributeNS(ANDROID, "name"));
        }
        assertTrue(asked.toString(), asked.containsAll(Set.of(Phone.ACCESS_TOOLS, Phone.ACCESS_PROVIDER)));
        assertEquals("the bridge app's two variants define it or not", 0,
            read().getElementsByTagName("permission").getLength());
    }

    @Test
    public void androids_compiler_accepts_the_manifest() throws Exception {
        String text = Files.readString(manifest());
        assertTrue(Files.size(Manifests.apk(text.substring(text.indexOf("?>") + 2))) > 0);
    }
}
