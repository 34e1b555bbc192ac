package dev.toolway.host;

import static org.junit.Assert.assertEquals;

import android.content.pm.PackageInfo;
import android.content.pm.Signature;
import android.content.pm.SigningInfo;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.phone.Manifests;
import dev.toolway.phone.Phone;
import dev.toolway.phone.StrictPackageManager;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.Shadows;
import org.robolectric.annotation.Config;
import org.robolectric.shadow.api.Shadow;
import org.robolectric.shadows.ShadowSigningInfo;

/** Tests the declarations of unusual apps and of apps with replaced keys. */
@RunWith(RobolectricTestRunner.class)
@Config(shadows = StrictPackageManager.class)
public class DeclarationsTest {
    private static final String ODD = "com.example.odd";
    private static final String FINANCE = "com.example.finance";
    /** SHA-256 of "old key", "new key" and "other key", which replace certificates here. */
    private static final String OLD_KEY = "2d9ac2b9b9b4ae9b6e44c6d2e695c47854fe6e5a4d4c55992af43047b692adbc";
    private static final String NEW_KEY = "812d43bf64caed9edac6955625540c4efd73b32e33d1ab3538bdb437fa44779e";
    private static final String OTHER_KEY = "c3d132b07a5658d4ba01878b73ba7db9879a0120ca9b5330d9600bf9dc84d761";

    @Rule
    public final Phone phone = new Phone();

    /** One reported CETP service. */
    private static final class Told {
        String certificate;
        Object authority;
        Object version;
    }

    private Map<String, Told> discover() {
        ToolwayHost host = new ToolwayHost(phone.app());
        Reader found = new Reader(host.discover(new Writer().flag(false).toBytes()));
        assertEquals("done", 0, found.kind());
        Map<String, Told> all = new HashMap<>();
        for (int left = found.integer(); left > 0; left--) {
            Told told = new Told();
            String packageName = found.text();
            found.textOrNone();
            told.certificate = found.textOrNone();
            found.text();
            found.flag();
            assertEquals("a CETP service", 0, found.kind());
            told.authority = value(found);
            told.version = value(found);
            all.put(packageName, told);
        }
        return all;
    }

    private static Object value(Reader from) {
        int kind = from.kind();
        switch (kind) {
            case Writer.NULL:
                return null;
            case Writer.INT:
                return from.integer();
            case Writer.TEXT:
                return from.text();
            case Writer.OTHER:
                return "other: " + from.text();
            default:
                throw new AssertionError("a value of the kind " + kind);
        }
    }

    private void install(String packageName, String key) {
        phone.install(Manifests.apk(packageName, "App",
            Manifests.cetp(".S", FinanceByHand.class.getName(), packageName + ".tools", "1")), key);
    }

    @Test
    public void an_app_with_too_much_meta_data_does_not_hide_others() {
        install(ODD, "a key");
        install(FINANCE, "another key");
        // Newer Android versions do not install such an app; older ones do.
        info(ODD).services[0].metaData.putString("much", "x".repeat(600_000));
        Map<String, Told> found = discover();
        assertEquals(2, found.size());
        assertEquals(FINANCE + ".tools", found.get(FINANCE).authority);
        assertEquals(1, found.get(FINANCE).version);
        assertEquals("other: android.os.TransactionTooLargeException", found.get(ODD).authority);
        assertEquals("other: android.os.TransactionTooLargeException", found.get(ODD).version);
    }

    @Test
    public void a_service_without_meta_data_is_reported_without_it() {
        String declared = Manifests.cetp(".S", FinanceByHand.class.getName(), ODD + ".tools", null);
        phone.install(Manifests.apk(ODD, "Odd", declared.replaceAll("<meta-data[^>]*>", "")));
        Told told = discover().get(ODD);
        assertEquals(null, told.authority);
        assertEquals(null, told.version);
    }

    @Test
    public void an_app_is_identified_by_its_current_signer() {
        install(FINANCE, "new key");
        assertEquals(NEW_KEY, discover().get(FINANCE).certificate);
        sign("old key", "new key");
        assertEquals("not by who signed it before", NEW_KEY, discover().get(FINANCE).certificate);
        install(ODD, "old key");
        assertEquals("whoever has the old key is another", OLD_KEY, discover().get(ODD).certificate);
    }

    @Test
    public void an_app_with_several_signers_is_identified_by_all_of_them() {
        install(FINANCE, "new key");
        signing().setSignatures(signatures("new key", "other key"));
        assertEquals(List.of(NEW_KEY, OTHER_KEY).stream().sorted().collect(Collectors.joining(",")),
            discover().get(FINANCE).certificate);
    }

    @Test
    public void an_app_without_a_known_signer_has_no_certificate() {
        install(FINANCE, "new key");
        PackageInfo info = info(FINANCE);
        info.signatures = null;
        info.signingInfo = null;
        assertEquals(null, discover().get(FINANCE).certificate);
    }

    private PackageInfo info(String packageName) {
        return Shadows.shadowOf(phone.app().getPackageManager()).getInternalMutablePackageInfo(packageName);
    }

    private ShadowSigningInfo signing() {
        PackageInfo info = info(FINANCE);
        info.signingInfo = Shadow.newInstanceOf(SigningInfo.class);
        return Shadow.extract(info.signingInfo);
    }

    private static Signature[] signatures(String... keys) {
        return Arrays.stream(keys).map(key -> new Signature(key.getBytes(StandardCharsets.UTF_8)))
            .toArray(Signature[]::new);
    }

    /** Signs the finance app with the last key. The others are its proven earlier keys, oldest first. */
    private void sign(String... keys) {
        ShadowSigningInfo signing = signing();
        signing.setSignatures(signatures(keys[keys.length - 1]));
        signing.setPastSigningCertificates(signatures(keys));
    }
}
