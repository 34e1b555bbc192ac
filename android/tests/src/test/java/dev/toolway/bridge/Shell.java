package dev.toolway.bridge;

import dev.toolway.host.BridgeListener;
import dev.toolway.host.BridgeOptions;
import dev.toolway.host.BridgeStatus;
import dev.toolway.host.ProviderRow;
import dev.toolway.host.ToolwayBridge;
import dev.toolway.phone.Phone;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** A test's app around a bridge. Records the events. */
final class Shell implements BridgeListener, AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private static boolean loaded;

    private final User user = new User();
    private final ToolwayBridge bridge;
    private final List<BridgeStatus> statuses = new ArrayList<>();
    private List<ProviderRow> providers = List.of();
    private String fault;
    private String names;

    Shell(Phone phone, BridgeOptions options) {
        bridge = ToolwayBridge.start(phone.app(), options, user, this);
    }

    /** Options with short timeouts. */
    static BridgeOptions options(Gateway gateway, String token, String name) {
        return new BridgeOptions(gateway.url(), token, name).deviceId("id of " + name).settle(20).listTimeout(10_000);
    }

    /** Loads a copy of the library, because each sandbox of Robolectric has its own class loader. */
    static synchronized void load() {
        if (loaded) {
            return;
        }
        try {
            Path copy = Files.createTempFile("toolway", ".so");
            Files.copy(Programs.built("toolway.jni", System.mapLibraryName("toolway_android_jni")), copy,
                StandardCopyOption.REPLACE_EXISTING);
            System.load(copy.toString());
            Files.delete(copy);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        loaded = true;
    }

    User user() {
        return user;
    }

    ToolwayBridge bridge() {
        return bridge;
    }

    @Override
    public synchronized void status(BridgeStatus status) {
        statuses.add(status);
        notifyAll();
    }

    @Override
    public synchronized void providers(List<ProviderRow> rows, String why) {
        providers = rows;
        fault = why;
        notifyAll();
    }

    @Override
    public synchronized void names(String given) {
        names = given;
        notifyAll();
    }

    /** Waits for the names to store, and returns them. */
    synchronized String keptNames() {
        await("names", () -> names != null);
        return names;
    }

    /** Waits for a matching row of this authority. */
    synchronized ProviderRow row(String authority, Predicate<ProviderRow> wanted) {
        List<ProviderRow> found = new ArrayList<>();
        await("a row of " + authority, () -> {
            found.clear();
            providers.stream().filter(row -> row.authority().equals(authority)).filter(wanted).forEach(found::add);
            return !found.isEmpty();
        });
        return found.get(0);
    }

    /** Waits for a row of this authority in this state. */
    ProviderRow row(String authority, ProviderRow.State state) {
        return row(authority, row -> row.state() == state);
    }

    /** Waits until the authority has no row. */
    synchronized void noRow(String authority) {
        await("no row of " + authority, () -> providers.stream().noneMatch(row -> row.authority().equals(authority)));
    }

    /** Waits for a status. */
    synchronized BridgeStatus status(String what, Predicate<BridgeStatus> wanted) {
        List<BridgeStatus> found = new ArrayList<>();
        await(what, () -> {
            statuses.stream().filter(wanted).limit(1).forEach(found::add);
            return !found.isEmpty();
        });
        return found.get(0);
    }

    private interface Condition {
        boolean holds();
    }

    private synchronized void await(String what, Condition condition) {
        long end = System.nanoTime() + TIMEOUT.toNanos();
        while (!condition.holds()) {
            long left = (end - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                throw new AssertionError("no " + what + " within " + TIMEOUT + "; there are: " + providers.stream()
                    .map(row -> row.authority() + " " + row.state() + " " + row.reason() + " " + row.notes())
                    .collect(Collectors.toList()) + (fault == null ? "" : "; fault: " + fault));
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    @Override
    public void close() {
        bridge.stop();
    }
}
