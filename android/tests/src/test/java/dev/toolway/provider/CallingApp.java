package dev.toolway.provider;

import static java.nio.charset.StandardCharsets.UTF_8;

import android.content.AttributionSource;
import android.content.ContentProvider;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageInfo;
import android.content.pm.Signature;
import android.content.pm.SigningInfo;
import android.os.Build;
import android.os.Bundle;
import android.os.Parcel;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.Shadows;
import org.robolectric.shadow.api.Shadow;
import org.robolectric.shadows.ShadowBinder;
import org.robolectric.shadows.ShadowPackageManager;
import org.robolectric.shadows.ShadowSigningInfo;
import org.robolectric.util.ReflectionHelpers;
import org.robolectric.util.ReflectionHelpers.ClassParameter;

/**
 * An installed app that calls providers like the framework: requests and answers pass through
 * a parcel, and the provider's transport sets the caller.
 */
public final class CallingApp {
    private static final AtomicInteger UIDS = new AtomicInteger(10_500);

    private final String name;
    private final int uid;

    private CallingApp(String name, int uid) {
        this.name = name;
        this.uid = uid;
    }

    /** Installs an app with these certificates, the oldest first. */
    public static CallingApp install(String name, String... certificates) {
        return install(name, UIDS.getAndIncrement(), certificates);
    }

    /** Installs another app with the same uid. */
    public CallingApp sister(String another) {
        CallingApp app = install(another, uid, "the maker of " + name);
        packages().setPackagesForUid(uid, name, another);
        return app;
    }

    /** Creates a caller without a package, such as a shell. */
    public static CallingApp nameless() {
        return new CallingApp(null, UIDS.getAndIncrement());
    }

    private static CallingApp install(String name, int uid, String... certificates) {
        PackageInfo info = new PackageInfo();
        info.packageName = name;
        info.applicationInfo = new ApplicationInfo();
        info.applicationInfo.packageName = name;
        info.applicationInfo.uid = uid;
        packages().installPackage(info);
        packages().setPackagesForUid(uid, name);
        sign(name, certificates.length == 0 ? new String[] {"the maker of " + name} : certificates);
        return new CallingApp(name, uid);
    }

    /** Sets the certificates of an installed app, the oldest first. Their content is never parsed. */
    public static void sign(String name, String... certificates) {
        ShadowSigningInfo signing = signing(name);
        Signature[] history = signatures(certificates);
        signing.setSignatures(Arrays.copyOfRange(history, history.length - 1, history.length));
        if (history.length > 1) {
            signing.setPastSigningCertificates(history);
        }
    }

    /** Signs the app with several certificates together. */
    public static void signTogether(String name, String... certificates) {
        signing(name).setSignatures(signatures(certificates));
    }

    /** Makes the system return no signer of the app. */
    public static void hideSigner(String name) {
        packages().getInternalMutablePackageInfo(name).signingInfo = null;
    }

    private static ShadowSigningInfo signing(String name) {
        PackageInfo info = packages().getInternalMutablePackageInfo(name);
        info.signingInfo = Shadow.newInstanceOf(SigningInfo.class);
        return Shadow.extract(info.signingInfo);
    }

    private static Signature[] signatures(String... certificates) {
        return Arrays.stream(certificates).map(it -> new Signature(it.getBytes(UTF_8))).toArray(Signature[]::new);
    }

    /** Calls as this app with its own package. */
    public Bundle call(ContentProvider provider, String authority, String method, Bundle extras) {
        return call(provider, authority, method, extras, name);
    }

    /** Calls as this app with a claimed package. */
    public Bundle call(ContentProvider provider, String authority, String method, Bundle extras, String claimed) {
        ShadowBinder.setCallingUid(uid);
        try {
            Object transport = ReflectionHelpers.callInstanceMethod(provider, "getIContentProvider");
            Bundle answer = ReflectionHelpers.callInstanceMethod(
                    transport,
                    "call",
                    source(claimed),
                    ClassParameter.from(String.class, authority),
                    ClassParameter.from(String.class, method),
                    ClassParameter.from(String.class, null),
                    ClassParameter.from(Bundle.class, sent(extras)));
            return sent(answer);
        } finally {
            ShadowBinder.setCallingUid(android.os.Process.myUid());
        }
    }

    private ClassParameter<?> source(String claimed) {
        return Build.VERSION.SDK_INT >= Build.VERSION_CODES.S
                ? ClassParameter.from(
                        AttributionSource.class,
                        new AttributionSource.Builder(uid).setPackageName(claimed).build())
                : ClassParameter.from(String.class, claimed);
    }

    /** Passes a bundle through a parcel. Its class loader knows only the framework, as on a phone. */
    public static Bundle sent(Bundle bundle) {
        Parcel parcel = Parcel.obtain();
        try {
            parcel.writeBundle(bundle);
            parcel.setDataPosition(0);
            return parcel.readBundle();
        } finally {
            parcel.recycle();
        }
    }

    private static ShadowPackageManager packages() {
        return Shadows.shadowOf(RuntimeEnvironment.getApplication().getPackageManager());
    }
}
