package dev.toolway.host;

import android.os.Build;
import android.os.Bundle;

/** Options of a bridge. Missing options have defaults. */
public final class BridgeOptions {
    private final Bundle said = new Bundle();

    /**
     * Creates the options for a device of this gateway.
     *
     * @param url the gateway's URL, {@code https://host:port}
     * @param token the token from pairing
     * @param name the device's display name
     */
    public BridgeOptions(String url, String token, String name) {
        said.putString("url", url);
        said.putString("token", token);
        said.putString("name", name);
        said.putString("platform", "Android " + Build.VERSION.RELEASE + " (API " + Build.VERSION.SDK_INT + ")");
    }

    /** Sets the pin of the gateway's key from pairing: {@code sha256:} and 64 digits. */
    public BridgeOptions key(String pin) {
        said.putString("key", pin);
        return this;
    }

    /** Sets an id that is stable across restarts of the app. */
    public BridgeOptions deviceId(String id) {
        said.putString("device_id", id);
        return this;
    }

    /** Sets the version of the app. */
    public BridgeOptions appVersion(String version) {
        said.putString("app_version", version);
        return this;
    }

    /** Sets the names of the last call of {@link BridgeListener#names}; null at the first start. */
    public BridgeOptions names(String names) {
        said.putString("names", names);
        return this;
    }

    /** Allows plain HTTP to another computer. Others on the network could read the token. */
    public BridgeOptions insecure(boolean allowed) {
        said.putBoolean("insecure", allowed);
        return this;
    }

    /** Allows opening an app for a call if it can't be started otherwise. Default: false. */
    public BridgeOptions launchApps(boolean allowed) {
        said.putBoolean("launch_apps", allowed);
        return this;
    }

    /** Sets the timeout for listing the tools of one app. */
    public BridgeOptions listTimeout(long millis) {
        said.putLong("list_timeout_ms", millis);
        return this;
    }

    /** Sets the timeout of calls if the gateway has none. */
    public BridgeOptions callTimeout(long millis) {
        said.putLong("call_timeout_ms", millis);
        return this;
    }

    /** Sets the timeout for a person's authorization. */
    public BridgeOptions consentTimeout(long millis) {
        said.putLong("consent_timeout_ms", millis);
        return this;
    }

    /** Sets the time to wait for further package changes after one. */
    public BridgeOptions settle(long millis) {
        said.putLong("settle_ms", millis);
        return this;
    }

    byte[] toBytes() {
        return new Writer().bundle(said).toBytes();
    }
}
