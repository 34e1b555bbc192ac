package dev.toolway.host;

import android.content.Context;
import java.util.ArrayList;
import java.util.List;

/**
 * A running bridge: finds the app providers of this phone and offers their tools to a gateway. The native library does
 * the work; load it with {@code System.loadLibrary("toolway_android_jni")} before you start a bridge.
 */
public final class ToolwayBridge {
    private static final int ASK = 0;
    private static final int OPENED = 1;
    private static final int WITHDRAWN = 2;
    private static final int OFFER = 3;
    private static final int STATUS = 4;
    private static final int PROVIDERS = 5;
    private static final int NAMES = 6;

    private final ToolwayHost host;
    private final AuthorizationUi ui;
    private final BridgeListener listener;
    private volatile long number;

    private ToolwayBridge(ToolwayHost host, AuthorizationUi ui, BridgeListener listener) {
        this.host = host;
        this.ui = ui;
        this.listener = listener;
    }

    /**
     * Starts a bridge. It connects and scans until it is stopped.
     *
     * @throws IllegalArgumentException if an option is invalid, with the reason
     */
    public static ToolwayBridge start(
            Context context, BridgeOptions options, AuthorizationUi ui, BridgeListener listener) {
        ToolwayHost host = new ToolwayHost(context);
        ToolwayBridge bridge = new ToolwayBridge(host, ui, listener);
        bridge.number = Natives.start(host, bridge, options.toBytes());
        return bridge;
    }

    /**
     * Stops the bridge, and waits until the gateway is informed and the listener has the last names. This can take
     * some seconds, so do not call it on the main thread.
     *
     * @return true if it was running
     */
    public boolean stop() {
        host.unwatch();
        return Natives.stop(number);
    }

    /** Lists the tools of all apps again. */
    public void rescan() {
        Natives.rescan(number);
    }

    /**
     * Takes the user to an app that requires authorization before it lists tools. Its tools are listed again
     * afterwards.
     */
    public void authorize(String authority) {
        Natives.authorize(number, authority);
    }

    /** Handles an event. The library calls this on a separate thread, one event after the other. */
    void tell(byte[] event) {
        Reader from = new Reader(event);
        int kind = from.kind();
        switch (kind) {
            case ASK:
                ui.ask(new AuthorizationRequest(from.longInteger(), from));
                break;
            case OPENED:
                ui.opened(new AuthorizationRequest(from.longInteger(), from));
                break;
            case WITHDRAWN:
                ui.withdrawn(from.longInteger());
                break;
            case OFFER:
                ui.offer(new AuthorizationRequest(0, from));
                break;
            case STATUS:
                listener.status(new BridgeStatus(from));
                break;
            case PROVIDERS:
                providers(from);
                break;
            case NAMES:
                listener.names(from.text());
                break;
            default:
                throw new IllegalArgumentException("an event of the kind " + kind);
        }
    }

    private void providers(Reader from) {
        String fault = from.textOrNone();
        int length = from.integer();
        List<ProviderRow> rows = new ArrayList<>(length);
        for (int i = 0; i < length; i++) {
            rows.add(new ProviderRow(from));
        }
        listener.providers(rows, fault);
    }
}
