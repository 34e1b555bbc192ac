package dev.toolway.host;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.net.Uri;

/** Reports added, removed and changed packages to a listener in the native library, until the listener is removed. */
final class PackageWatch extends BroadcastReceiver {
    private final Context context;
    private final long listener;
    private boolean registered;

    private PackageWatch(Context context, long listener) {
        this.context = context;
        this.listener = listener;
    }

    static PackageWatch start(Context context, long listener) {
        PackageWatch watch = new PackageWatch(context, listener);
        IntentFilter filter = new IntentFilter();
        filter.addAction(Intent.ACTION_PACKAGE_ADDED);
        filter.addAction(Intent.ACTION_PACKAGE_REPLACED);
        filter.addAction(Intent.ACTION_PACKAGE_REMOVED);
        filter.addAction(Intent.ACTION_PACKAGE_CHANGED);
        filter.addDataScheme("package");
        synchronized (watch) {
            context.registerReceiver(watch, filter);
            watch.registered = true;
        }
        return watch;
    }

    synchronized void stop() {
        if (registered) {
            registered = false;
            context.unregisterReceiver(this);
        }
    }

    @Override
    public void onReceive(Context context, Intent intent) {
        if (isFirstHalfOfUpdate(intent)) {
            return;
        }
        Uri data = intent.getData();
        if (!Natives.packageChanged(listener, data == null ? null : data.getSchemeSpecificPart())) {
            stop();
        }
    }

    /** The new version follows in a moment; until then, the tools of the old version stay. */
    private static boolean isFirstHalfOfUpdate(Intent intent) {
        return Intent.ACTION_PACKAGE_REMOVED.equals(intent.getAction())
            && intent.getBooleanExtra(Intent.EXTRA_REPLACING, false);
    }
}
