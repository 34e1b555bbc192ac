package dev.toolway.phone;

import android.app.ApplicationPackageManager;
import android.content.ComponentName;
import android.content.Intent;
import android.content.pm.PackageManager;
import android.content.pm.ResolveInfo;
import android.content.pm.ServiceInfo;
import android.os.Bundle;
import android.os.Parcel;
import android.os.TransactionTooLargeException;
import java.util.List;
import org.robolectric.annotation.Implementation;
import org.robolectric.annotation.Implements;
import org.robolectric.shadows.ShadowApplicationPackageManager;

/** A package manager that returns only as much of a manifest as a phone's. */
@Implements(value = ApplicationPackageManager.class, isInAndroidSdk = false)
public class StrictPackageManager extends ShadowApplicationPackageManager {
    @Implementation
    @Override
    protected List<ResolveInfo> queryIntentServices(Intent intent, int flags) {
        List<ResolveInfo> found = super.queryIntentServices(intent, flags);
        for (ResolveInfo each : found) {
            pass(each.serviceInfo.metaData);
        }
        return found;
    }

    @Implementation
    @Override
    protected ServiceInfo getServiceInfo(ComponentName component, int flags)
            throws PackageManager.NameNotFoundException {
        ServiceInfo found = super.getServiceInfo(component, flags);
        pass(found.metaData);
        return found;
    }

    /** Like `RemoteException.rethrowFromSystemServer`. */
    private static void pass(Bundle metaData) {
        Parcel parcel = Parcel.obtain();
        try {
            parcel.writeBundle(metaData);
            if (parcel.dataSize() > ProviderProcess.BUFFER) {
                throw new RuntimeException(
                    new TransactionTooLargeException("data parcel size " + parcel.dataSize() + " bytes"));
            }
        } finally {
            parcel.recycle();
        }
    }
}
