package dev.toolway.host;

import android.os.Build;
import android.os.Bundle;

/** How a bridge is to be. What is not said keeps its default. */
public final class BridgeOptions {
    private final Bundle said = new Bundle();

    /**
     * A device of this gateway.
     *
     * @param url its address, {@code https://host:port}
     * @param token the token that pairing gave
     * @param name the device's name for people
     */
    public BridgeOptions(String url, String token, String name) {
        said.putString("url", url);
        said.putString("token", token);
        said.putString("name", name);
        said.putString("platform", "Android " + Build.VERSION.RELEASE + " (API " + Build.VERSION.SDK_INT + ")");
    }

    /** The pin of the gateway's key, as pairing gave it: {@code sha256:} and 64 digits. */
    public BridgeOptions key(String pin) {
        said.putString("key", pin);
        return this;
    }

    /** An id that stays the same over restarts of the app. */
    public BridgeOptions deviceId(String id) {
        said.putString("device_id", id);
        return this;
    }

    /** The app's version. */
    public BridgeOptions appVersion(String version) {
        said.putString("app_version", version);
        return this;
    }

    /** The names that {@link BridgeListener#names} was told of last; null at the first start. */
    public BridgeOptions names(String names) {
        said.putString("names", names);
        return this;
    }

    /** Allows plain HTTP to another computer: everyone on the way could read the token. */
    public BridgeOptions insecure(boolean allowed) {
        said.putBoolean("insecure", allowed);
        return this;
    }

    /** Whether an app that can't be started otherwise may be opened for a call. It is not where nothing is said. */
    public BridgeOptions launchApps(boolean allowed) {
        said.putBoolean("launch_apps", allowed);
        return this;
    }

    /** How long one app may take to tell its tools. */
    public BridgeOptions listPatience(long millis) {
        said.putLong("list_patience_ms", millis);
        return this;
    }

    /** How long a call may take where the gateway does not say. */
    public BridgeOptions callPatience(long millis) {
        said.putLong("call_patience_ms", millis);
        return this;
    }

    /** How long a person may take who is asked to allow something. */
    public BridgeOptions personPatience(long millis) {
        said.putLong("person_patience_ms", millis);
        return this;
    }

    /** How long to wait for further changes of packages after one. */
    public BridgeOptions settle(long millis) {
        said.putLong("settle_ms", millis);
        return this;
    }

    byte[] toBytes() {
        return new Writer().bundle(said).toBytes();
    }
}
