package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.content.Context;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;

@RunWith(RobolectricTestRunner.class)
public class GrantsTest {
    private static final String BRIDGE = "com.example.bridge";

    private final Context context = RuntimeEnvironment.getApplication();
    private long now = 1_000_000;
    private final Grants grants = new Grants(context, () -> now);

    private Caller caller(String name, String... shared) {
        List<String> packages = shared.length == 0 ? List.of(name) : List.of(shared);
        return new Caller(1, name, packages, context.getPackageManager());
    }

    private String answer(Caller caller) {
        try {
            grants.check(caller, "not yet", "Open the app", "com.example.ACTION").check();
            return "allowed";
        } catch (ToolException refusal) {
            if (refusal.code() == ErrorCode.AUTH_REQUIRED) {
                assertEquals("not yet", refusal.getMessage());
                assertEquals("Open the app", refusal.hint());
                assertEquals("com.example.ACTION", refusal.authorizeAction());
            }
            return refusal.code().name();
        }
    }

    private String state() {
        return grants.list().stream().map(it -> it.packageName() + " " + it.state()).collect(Collectors.joining(", "));
    }

    @Test
    public void permissionIsRequestedGrantedAndRevoked() {
        CallingApp.install(BRIDGE);
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
        assertEquals(BRIDGE + " ASKED", state());
        assertEquals(now, grants.list().get(0).since());
        now++;
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
        assertEquals("asking again changes nothing", now - 1, grants.list().get(0).since());
        assertTrue(grants.allow(BRIDGE, Grants.NO_END));
        assertEquals("allowed", answer(caller(BRIDGE)));
        assertEquals(BRIDGE + " ALLOWED", state());
        grants.revoke(BRIDGE);
        assertEquals("", state());
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
    }

    @Test
    public void permissionExpires() {
        CallingApp.install(BRIDGE);
        grants.allow(BRIDGE, now + 1_000);
        now += 999;
        assertEquals("allowed", answer(caller(BRIDGE)));
        now++;
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
        assertEquals(BRIDGE + " ASKED", state());
    }

    @Test
    public void deniedCallerGetsNothing() {
        CallingApp.install(BRIDGE);
        assertTrue(grants.refuseDenied(caller(BRIDGE)).isAllowed());
        grants.deny(BRIDGE);
        assertEquals("PERMISSION_DENIED", answer(caller(BRIDGE)));
        assertFalse(grants.refuseDenied(caller(BRIDGE)).isAllowed());
        // Any signer.
        CallingApp.sign(BRIDGE, "someone else");
        assertEquals("PERMISSION_DENIED", answer(caller(BRIDGE)));
        grants.allow(BRIDGE, Grants.NO_END);
        assertEquals("allowed", answer(caller(BRIDGE)));
    }

    @Test
    public void packageWithAnotherCertificateMustAskAgain() {
        CallingApp.install(BRIDGE, "maker");
        grants.allow(BRIDGE, Grants.NO_END);
        CallingApp.sign(BRIDGE, "thief");
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
        assertEquals(BRIDGE + " ASKED", state());
        // A grant for the attacker's certificate does not apply to the original app.
        CallingApp.sign(BRIDGE, "maker");
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
    }

    @Test
    public void grantSurvivesProvenCertificateChange() {
        CallingApp.install(BRIDGE, "old");
        grants.allow(BRIDGE, Grants.NO_END);
        CallingApp.sign(BRIDGE, "old", "new");
        assertEquals("allowed", answer(caller(BRIDGE)));
    }

    /** The user saw the app that asked; another one may have replaced it since then. */
    @Test
    public void permissionIsForTheAppThatAsked() {
        CallingApp.install(BRIDGE, "maker");
        answer(caller(BRIDGE));
        CallingApp.sign(BRIDGE, "thief");
        grants.allow(BRIDGE, Grants.NO_END);
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
        CallingApp.sign(BRIDGE, "maker");
        grants.revoke(BRIDGE);
        grants.allow(BRIDGE, Grants.NO_END);
        assertEquals("allowed", answer(caller(BRIDGE)));
    }

    @Test
    public void callerWithoutCertificateIsDenied() {
        CallingApp.install(BRIDGE);
        CallingApp.hideSigner(BRIDGE);
        assertFalse(grants.allow(BRIDGE, Grants.NO_END));
        assertFalse(grants.allow("com.example.missing", Grants.NO_END));
        assertEquals("PERMISSION_DENIED", answer(caller(BRIDGE)));
        assertEquals("PERMISSION_DENIED", answer(new Caller(1, null, List.of(), context.getPackageManager())));
        assertEquals("", state());
    }

    @Test
    public void denialAppliesToAllAppsOfSharedUid() {
        CallingApp.install(BRIDGE);
        grants.allow(BRIDGE, Grants.NO_END);
        grants.deny("com.example.sister");
        assertEquals("PERMISSION_DENIED", answer(caller(BRIDGE, BRIDGE, "com.example.sister")));
        assertEquals("allowed", answer(caller(BRIDGE)));
    }

    @Test
    public void grantsArePersistent() {
        CallingApp.install(BRIDGE);
        grants.allow(BRIDGE, 5_000_000);
        Grants opened = new Grants(context, () -> now);
        assertEquals(5_000_000, opened.list().get(0).until());
        assertEquals(Grant.State.ALLOWED, opened.list().get(0).state());
        opened.revoke(BRIDGE);
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
    }

    @Test
    public void invalidStoredGrantIsIgnored() {
        CallingApp.install(BRIDGE);
        String[] texts = {"", "allowed", "{}", "{\"state\":\"ALLOWED\"}",
            "{\"certificate\":\"\",\"state\":\"SOMETIMES\",\"until\":1,\"since\":1}"};
        for (String text : texts) {
            context.getSharedPreferences("dev.toolway.provider.grants", Context.MODE_PRIVATE)
                    .edit().putString(BRIDGE, text).commit();
            assertEquals("", state());
        }
        assertEquals("AUTH_REQUIRED", answer(caller(BRIDGE)));
    }

    @Test
    public void numberOfPendingAppsIsLimited() {
        CallingApp.install("com.example.allowed");
        grants.allow("com.example.allowed", Grants.NO_END);
        for (int i = 0; i < Grants.MAX_ASKED + 5; i++) {
            now++;
            String name = "com.example.app" + i;
            CallingApp.install(name);
            answer(caller(name));
        }
        List<Grant> kept = grants.list();
        assertEquals(Grants.MAX_ASKED + 1, kept.size());
        assertEquals("com.example.allowed", kept.get(0).packageName());
        assertTrue(kept.stream().noneMatch(it -> it.packageName().equals("com.example.app4")));
        assertTrue(kept.stream().anyMatch(it -> it.packageName().equals("com.example.app5")));
    }
}
