package dev.toolway.bridge;

import dev.toolway.foreign.TenTools;
import dev.toolway.host.ToolwayHost;
import dev.toolway.phone.Manifests;
import dev.toolway.phone.Phone;
import dev.toolway.phone.PlainContentProviderClient;
import dev.toolway.phone.StrictContentResolver;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;

/**
 * Not a test: prints what the bridge itself costs. `scripts/bench-android.sh` runs it with the native library and the
 * gateway as they are released; the native side is `crates/android-jni/examples/figures.rs`.
 */
@RunWith(RobolectricTestRunner.class)
@Config(shadows = {StrictContentResolver.class, PlainContentProviderClient.class})
public class Figures {
    private static final int CALLS = 2_000;
    private static final int PROVIDERS = 20;
    private static final int SCANS = 15;

    @Rule
    public final Phone phone = new Phone();

    private static native double[] calls(ToolwayHost host, String authority, int rounds);

    private static native double[] scan(ToolwayHost host, String url, String token, int providers, int rounds);

    @Test
    public void figures() {
        System.load(Programs.built("toolway.figures", System.mapLibraryName("figures")).toString());
        install(0);
        ToolwayHost host = new ToolwayHost(phone.app());
        double[] calls = calls(host, authority(0), CALLS);
        for (int i = 1; i < PROVIDERS; i++) {
            install(i);
        }
        double[] scan;
        try (Gateway gateway = new Gateway("", "")) {
            scan = scan(host, gateway.url(), gateway.pairDevice(), PROVIDERS, SCANS);
        }
        System.out.printf("%n| figure | measured | goal |%n|---|---|---|%n");
        row("a call through JNI and the resolver alone, p50", calls[0], "");
        row("the same through the bridge, p50", calls[1], "");
        row("the bridge's own share", calls[1] - calls[0], "at most 0.3 ms");
        row("scan of " + PROVIDERS + " quick providers, best of " + SCANS, scan[0], "at most 100 ms");
        row("registering their " + 10 * PROVIDERS + " tools, best of " + SCANS, scan[1], "at most 50 ms");
    }

    private static void row(String what, double micros, String goal) {
        System.out.printf("| %s | %.3f ms | %s |%n", what, micros / 1_000, goal);
    }

    private static String authority(int number) {
        return "com.example.quick" + number + ".tools";
    }

    private void install(int number) {
        phone.install(Manifests.apk("com.example.quick" + number, "Quick " + number,
            Manifests.cetp(".S", TenTools.class.getName(), authority(number), "1")));
    }
}
