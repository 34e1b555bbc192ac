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

/** A test's phone: installs apps from real manifests, updates and removes them, and grants permissions. */
public final class Phone extends ExternalResource {
    /** Permission of CETP providers. */
    public static final String ACCESS_TOOLS = "com.clawseed.permission.ACCESS_TOOLS";
    /** Permission of MCP providers with the action. */
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

    /** Checks that no dying provider has ended the consumer app. */
    @Override
    protected void after() {
        PROCESSES.forEach((name, process) ->
            assertEquals("the consumer ended together with " + name, 0, process.endedCallers()));
    }

    /** The consumer app. */
    public Application app() {
        return RuntimeEnvironment.getApplication();
    }

    /** Installs a package signed by this key, and sends the broadcast. */
    public void install(Path apk, String key) {
        announce(Intent.ACTION_PACKAGE_ADDED, add(apk, key), false);
    }

    /** Installs a package signed by its own key. */
    public void install(Path apk) {
        install(apk, apk.toString());
    }

    /** Updates a package, and sends the three broadcasts of the system. */
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

    /** Sends the broadcast for a changed package, for example a disabled component. */
    public void changed(String packageName) {
        announce(Intent.ACTION_PACKAGE_CHANGED, packageName, false);
    }

    /** Grants the consumer these permissions. */
    public void grant(String... permissions) {
        Shadows.shadowOf(app()).grantPermissions(permissions);
    }

    /** Revokes these permissions of the consumer. */
    public void deny(String... permissions) {
        Shadows.shadowOf(app()).denyPermissions(permissions);
    }

    /** Returns the simulated process of the provider of this authority. */
    public ProviderProcess process(String authority) {
        return process(app().getPackageManager().resolveContentProvider(authority, 0));
    }

    /** Runs pending work of the main thread: broadcasts and starts of activities. */
    public void idle() {
        Shadows.shadowOf(Looper.getMainLooper()).idle();
    }

    static ProviderProcess process(ProviderInfo info) {
        return PROCESSES.computeIfAbsent(info.packageName + "/" + info.name, key -> new ProviderProcess(info));
    }

    @SuppressWarnings("deprecation") // The parser that Robolectric uses for packages.
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
            // Robolectric does not read the resources of other apps.
            packages.addStringResource(parsed.packageName, info.applicationInfo.labelRes, Manifests.label(apk));
        }
        return parsed.packageName;
    }

    /** Uses the key's name as the certificate, because no code here parses one. */
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
        // Otherwise it would stay removed.
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
