package dev.toolway.provider;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;

/**
 * Has the app's process started when the phone has booted (CETP, section 3.3). It does nothing itself: some makers'
 * Androids do not start a process for a content provider, and once it runs the provider is there.
 */
public final class BootReceiver extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {}
}
