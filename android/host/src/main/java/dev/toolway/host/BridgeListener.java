package dev.toolway.host;

import java.util.List;

/** Told what becomes of a bridge, on a thread of its own. */
public interface BridgeListener {
    /** What the connection to the gateway is doing. */
    void status(BridgeStatus status);

    /**
     * Which apps offer tools, and what is wrong with them.
     *
     * @param fault why this phone's apps could not be asked; null where they could
     */
    void providers(List<ProviderRow> providers, String fault);

    /**
     * Apps were given names. Keep this text and hand it to the next start: grants hang on these names, and without it
     * another app could come by one.
     */
    void names(String names);
}
