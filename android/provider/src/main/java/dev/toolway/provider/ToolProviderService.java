package dev.toolway.provider;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;

/**
 * The entry in the manifest by which an app's tools are found (CETP, section 2.2). It does nothing: whoever binds
 * to it gets nothing, and where it is started it stops.
 */
public final class ToolProviderService extends Service {
    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        stopSelf(startId);
        return START_NOT_STICKY;
    }
}
