package dev.toolway.host;

import java.util.List;

/** Receives the state of a bridge, on a separate thread. */
public interface BridgeListener {
    /** Reports the state of the connection to the gateway. */
    void status(BridgeStatus status);

    /**
     * Reports the apps with tools, and their problems.
     *
     * @param fault the reason why this phone's apps could not be queried; null if they could
     */
    void providers(List<ProviderRow> providers, String fault);

    /**
     * Reports new names of apps. Store this text and pass it to the next start: grants refer to these names, and
     * without them another app could get a name.
     */
    void names(String names);
}
