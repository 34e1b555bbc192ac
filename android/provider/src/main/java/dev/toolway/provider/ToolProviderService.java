package dev.toolway.provider;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;

/**
 * Entry in the manifest that makes an app's tools discoverable (CETP, section 2.2). It can't be bound, and stops
 * when it is started.
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
