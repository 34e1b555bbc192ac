package dev.toolway.host;

import android.content.Context;
import android.content.pm.PackageManager;
import android.os.Bundle;
import java.util.List;

/**
 * Gives the native library access to the apps of this phone. The library calls these methods by name on its own
 * threads. Each takes data for {@code Reader} and returns data of {@code Writer} (see {@link Replies}). They may take
 * as long as another app does: the library enforces deadlines.
 */
public final class ToolwayHost {
    private final Context context;
    private final PackageManager packages;
    private final Declarations declarations;
    private final Calls calls;
    private final Screens screens;
    private PackageWatch watch;

    /**
     * Creates a host for the apps that the app of this context can see.
     *
     * @param context any context of the app; its application context is kept
     */
    public ToolwayHost(Context context) {
        this.context = context.getApplicationContext();
        packages = this.context.getPackageManager();
        declarations = new Declarations(packages);
        calls = new Calls(this.context.getContentResolver());
        screens = new Screens(this.context);
    }

    byte[] discover(byte[] request) {
        Reader from = new Reader(request);
        List<String> only = from.flag() ? from.texts() : null;
        return declarations.find(only).toBytes();
    }

    byte[] resolve(byte[] request) {
        return declarations.resolve(new Reader(request).text()).toBytes();
    }

    byte[] call(byte[] request) {
        Reader from = new Reader(request);
        String authority = from.text();
        String method = from.text();
        Bundle extras = from.flag() ? from.bundle() : null;
        return calls.call(authority, method, extras);
    }

    byte[] wake(byte[] request) {
        return calls.wake(new Reader(request).text());
    }

    byte[] launch(byte[] request) {
        return Replies.done(screens.launch(new Reader(request).text()));
    }

    byte[] openAuthorization(byte[] request) {
        Reader from = new Reader(request);
        String packageName = from.text();
        return Replies.done(screens.authorization(packageName, from.text()));
    }

    synchronized byte[] watch(byte[] request) {
        unwatch();
        watch = PackageWatch.start(context, new Reader(request).longInteger());
        return Replies.done().toBytes();
    }

    /** Stops watching packages. */
    synchronized void unwatch() {
        if (watch != null) {
            watch.stop();
            watch = null;
        }
    }
}
