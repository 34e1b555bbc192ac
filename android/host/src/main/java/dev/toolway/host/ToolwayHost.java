package dev.toolway.host;

import android.content.Context;
import android.content.pm.PackageManager;
import android.os.Bundle;
import java.util.List;

/**
 * Reaches the apps of this phone for the native library, which decides what is to be done with them. The library calls
 * these methods, by name, on threads of its own; each takes what {@code Reader} reads and gives what {@code Writer}
 * writes (see {@link Replies}). They may take as long as another app does: deadlines are kept on the other side.
 */
public final class ToolwayHost {
    private final Context context;
    private final PackageManager packages;
    private final Declarations declarations;
    private final Calls calls;
    private final Screens screens;
    private PackageWatch watch;

    /**
     * The apps that the app of this context may see.
     *
     * @param context any context of the app; its application's is kept
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

    /** Tells of packages no more. */
    synchronized void unwatch() {
        if (watch != null) {
            watch.stop();
            watch = null;
        }
    }
}
