package dev.toolway.phone;

import android.content.ContentProviderClient;
import android.content.ContentResolver;
import android.content.Context;
import android.content.IContentProvider;
import android.content.pm.PackageManager;
import android.content.pm.ProviderInfo;
import android.net.Uri;
import android.os.Bundle;
import android.os.RemoteException;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Implementation;
import org.robolectric.annotation.Implements;
import org.robolectric.annotation.RealObject;
import org.robolectric.shadows.ShadowContentResolver;
import org.robolectric.util.ReflectionHelpers;
import org.robolectric.util.ReflectionHelpers.ClassParameter;

/**
 * A resolver as strict as a phone's: an unknown authority, a provider that is not exported and a missing permission
 * cause the system's errors, and all data passes through proxies and parcels.
 */
@Implements(ContentResolver.class)
public class StrictContentResolver extends ShadowContentResolver {
    @RealObject
    private ContentResolver resolver;

    @Implementation
    @Override
    protected IContentProvider acquireProvider(String authority) {
        return acquire(authority, true);
    }

    @Implementation
    @Override
    protected IContentProvider acquireUnstableProvider(String authority) {
        return acquire(authority, false);
    }

    @Implementation
    @Override
    protected ContentProviderClient acquireContentProviderClient(String authority) {
        return client(authority, true);
    }

    @Implementation
    @Override
    protected ContentProviderClient acquireContentProviderClient(Uri uri) {
        return client(uri.getAuthority(), true);
    }

    @Implementation
    @Override
    protected ContentProviderClient acquireUnstableContentProviderClient(String authority) {
        return client(authority, false);
    }

    @Implementation
    @Override
    protected ContentProviderClient acquireUnstableContentProviderClient(Uri uri) {
        return client(uri.getAuthority(), false);
    }

    @Implementation
    @Override
    protected Bundle call(Uri uri, String method, String arg, Bundle extras) {
        try (ContentProviderClient client = client(uri.getAuthority(), true)) {
            if (client == null) {
                throw new IllegalArgumentException("Unknown authority " + uri.getAuthority());
            }
            return client.call(method, arg, extras);
        } catch (RemoteException e) {
            return null; // Like the framework.
        }
    }

    private ContentProviderClient client(String authority, boolean stable) {
        IContentProvider provider = acquire(authority, stable);
        return provider == null ? null : ReflectionHelpers.callConstructor(ContentProviderClient.class,
            ClassParameter.from(ContentResolver.class, resolver),
            ClassParameter.from(IContentProvider.class, provider),
            ClassParameter.from(String.class, authority),
            ClassParameter.from(boolean.class, stable));
    }

    private static IContentProvider acquire(String authority, boolean stable) {
        Context caller = RuntimeEnvironment.getApplication();
        ProviderInfo info = caller.getPackageManager().resolveContentProvider(authority, 0);
        if (info == null) {
            return null;
        }
        if (!info.packageName.equals(caller.getPackageName())) {
            check(caller, info);
        }
        return Phone.process(info).connect(stable);
    }

    /** Text of `ActivityManagerService.checkContentProviderPermission`. */
    private static void check(Context caller, ProviderInfo info) {
        String denial = "Permission Denial: opening provider " + info.name + " from ProcessRecord{0 "
            + android.os.Process.myPid() + ":" + caller.getPackageName() + "/u0a1} (pid=" + android.os.Process.myPid()
            + ", uid=" + android.os.Process.myUid() + ") ";
        if (!info.exported) {
            throw new SecurityException(denial + "that is not exported from UID " + info.applicationInfo.uid);
        }
        boolean guarded = info.readPermission != null || info.writePermission != null;
        if (guarded && !granted(caller, info.readPermission) && !granted(caller, info.writePermission)) {
            throw new SecurityException(denial + "requires " + info.readPermission + " or " + info.writePermission);
        }
    }

    private static boolean granted(Context caller, String permission) {
        return permission == null || caller.checkSelfPermission(permission) == PackageManager.PERMISSION_GRANTED;
    }
}
