package dev.toolway.provider;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;

/**
 * Makes the system start the app's process after boot (CETP, section 3.3). It does nothing itself. Some vendors'
 * Android versions do not start a process for a content provider; this receiver makes the provider available there.
 */
public final class BootReceiver extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {}
}
