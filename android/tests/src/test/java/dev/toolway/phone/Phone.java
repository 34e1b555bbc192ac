package dev.toolway.phone;

import static org.junit.Assert.assertEquals;

import android.app.Application;
import android.content.Intent;
import android.content.pm.PackageInfo;
import android.content.pm.ProviderInfo;
import android.content.pm.Signature;
import android.content.pm.SigningInfo;
import android.net.Uri;
import android.os.Build;
import android.os.Looper;
import android.os.Process;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.rules.ExternalResource;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.Shadows;
import org.robolectric.shadow.api.Shadow;
import org.robolectric.shadows.ShadowPackageManager;
import org.robolectric.shadows.ShadowPackageParser;
import org.robolectric.shadows.ShadowSigningInfo;

/** The phone of a test: apps are installed from real manifests, updated and removed, and permissions granted. */
public final class Phone extends ExternalResource {
    /** What guards CETP providers. */
    public static final String ACCESS_TOOLS = "com.clawseed.permission.ACCESS_TOOLS";
    /** What guards MCP providers that are found by their action. */
    public static final String ACCESS_PROVIDER = "se.premex.mcp.ACCESS_PROVIDER";

    private static final Map<String, ProviderProcess> PROCESSES = new ConcurrentHashMap<>();
    private static final AtomicInteger UIDS = new AtomicInteger(10_100);

    @Override
    protected void before() {
        PROCESSES.clear();
        PackageInfo own = packages().getInternalMutablePackageInfo(app().getPackageName());
        packages().setPackagesForUid(Process.myUid(), own.packageName);
        sign(own, "key of the consumer");
        grant(ACCESS_TOOLS, ACCESS_PROVIDER);
    }

    /** No provider that died may have taken the app that consumes with it. */
    @Override
    protected void after() {
        PROCESSES.forEach((name, process) ->
            assertEquals("the consumer ended together with " + name, 0, process.endedCallers()));
    }

    /** The app that consumes. */
    public Application app() {
        return RuntimeEnvironment.getApplication();
    }

    /** Installs a package, signed by this key; says so to whoever listens. */
    public void install(Path apk, String key) {
        announce(Intent.ACTION_PACKAGE_ADDED, add(apk, key), false);
    }

    /** Installs a package, signed by a key of its own. */
    public void install(Path apk) {
        install(apk, apk.toString());
    }

    /** Puts another version in a package's place, with the three broadcasts that the system makes of it. */
    public void replace(Path apk, String key) {
        String packageName = ShadowPackageParser.callParsePackage(apk).packageName;
        announce(Intent.ACTION_PACKAGE_REMOVED, packageName, true);
        take(packageName);
        add(apk, key);
        announce(Intent.ACTION_PACKAGE_ADDED, packageName, true);
        announce(Intent.ACTION_PACKAGE_REPLACED, packageName, true);
    }

    /** Removes a package. */
    public void remove(String packageName) {
        take(packageName);
        announce(Intent.ACTION_PACKAGE_REMOVED, packageName, false);
    }

    /** Says that something about a package is another than before: a component was switched on or off, say. */
    public void changed(String packageName) {
        announce(Intent.ACTION_PACKAGE_CHANGED, packageName, false);
    }

    /** The consumer has these permissions. */
    public void grant(String... permissions) {
        Shadows.shadowOf(app()).grantPermissions(permissions);
    }

    /** The consumer has them no more. */
    public void deny(String... permissions) {
        Shadows.shadowOf(app()).denyPermissions(permissions);
    }

    /** What stands for the process of the provider of this authority. */
    public ProviderProcess process(String authority) {
        return process(app().getPackageManager().resolveContentProvider(authority, 0));
    }

    /** Runs what waits for the main thread: broadcasts, and starting activities. */
    public void idle() {
        Shadows.shadowOf(Looper.getMainLooper()).idle();
    }

    static ProviderProcess process(ProviderInfo info) {
        return PROCESSES.computeIfAbsent(info.packageName + "/" + info.name, key -> new ProviderProcess(info));
    }

    @SuppressWarnings("deprecation") // The parser that Robolectric takes packages from.
    private String add(Path apk, String key) {
        ShadowPackageManager packages = packages();
        android.content.pm.PackageParser.Package parsed = ShadowPackageParser.callParsePackage(apk);
        packages.addPackageInternal(parsed);
        PackageInfo info = packages.getInternalMutablePackageInfo(parsed.packageName);
        int uid = UIDS.getAndIncrement();
        info.applicationInfo.uid = uid;
        packages.setPackagesForUid(uid, parsed.packageName);
        sign(info, key);
        if (info.applicationInfo.labelRes != 0) {
            // Robolectric reads no other app's resources.
            packages.addStringResource(parsed.packageName, info.applicationInfo.labelRes, Manifests.label(apk));
        }
        return parsed.packageName;
    }

    /** The certificate is the key's name: nothing here looks into one. */
    @SuppressWarnings("deprecation")
    private static void sign(PackageInfo info, String key) {
        Signature signature = new Signature(key.getBytes(StandardCharsets.UTF_8));
        info.signatures = new Signature[] {signature};
        if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.P) {
            info.signingInfo = Shadow.newInstanceOf(SigningInfo.class);
            ShadowSigningInfo signing = Shadow.extract(info.signingInfo);
            signing.setSignatures(info.signatures);
        }
    }

    private void take(String packageName) {
        packages().deletePackage(packageName);
        // Else it would count as removed for ever.
        packages().getDeletedPackages().remove(packageName);
        PROCESSES.keySet().removeIf(key -> key.startsWith(packageName + "/"));
    }

    private void announce(String action, String packageName, boolean replacing) {
        Intent intent = new Intent(action, Uri.fromParts("package", packageName, null));
        app().sendBroadcast(replacing ? intent.putExtra(Intent.EXTRA_REPLACING, true) : intent);
        idle();
    }

    private ShadowPackageManager packages() {
        return Shadows.shadowOf(app().getPackageManager());
    }
}
