package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.os.Bundle;
import java.util.List;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;

/** Tests the identity of callers, and the app's decision before every method. */
@RunWith(RobolectricTestRunner.class)
public class AuthorizationTest {
    private final SampleTools provider = SampleTools.start();
    private final CallingApp app = CallingApp.install("com.example.bridge");

    private Request lastAsked() {
        return provider.asked.get(provider.asked.size() - 1);
    }

    private Caller lastCaller() {
        return provider.callers.get(provider.callers.size() - 1);
    }

    private static Bundle tool(String name) {
        Bundle extras = new Bundle();
        extras.putString("tool_name", name);
        return extras;
    }

    @Test
    public void accessIsDecidedForEveryMethodOfEveryProtocol() {
        provider.access = Access.deny("not for you");
        String[] methods = {"list_tools", "execute_tool", "get_provider_info", "get_tool_info", "anything"};
        for (String authority : new String[] {SampleTools.CETP, SampleTools.MCP, SampleTools.MCP_ALL}) {
            for (String method : methods) {
                int before = provider.asked.size();
                Bundle answer = app.call(provider, authority, method, tool("add"));
                assertEquals("not for you", answer.getString("error_message"));
                assertEquals(before + 1, provider.asked.size());
                assertEquals(method, lastAsked().method());
                assertEquals(method.equals("execute_tool"), lastAsked().runsTool());
                assertEquals(method.equals("execute_tool") ? "add" : null, lastAsked().tool());
                boolean cetp = authority.equals(SampleTools.CETP);
                assertEquals(cetp ? Request.Protocol.CETP : Request.Protocol.MCP, lastAsked().protocol());
                assertEquals(cetp ? "PERMISSION_DENIED" : null, answer.getString("error_code"));
            }
        }
        app.call(provider, SampleTools.CETP, "execute_tool", tool("nothing"));
        assertNull(lastAsked().tool());
    }

    @Test
    public void missingAccessDecisionDeniesCaller() {
        provider.access = null;
        Bundle answer = app.call(provider, SampleTools.CETP, "list_tools", null);
        assertEquals("INTERNAL_ERROR", answer.getString("error_code"));
    }

    @Test
    public void callerIsIdentifiedBySystem() {
        app.call(provider, SampleTools.CETP, "list_tools", null);
        assertEquals("com.example.bridge", lastCaller().packageName());
        assertEquals(List.of("com.example.bridge"), lastCaller().packages());
        assertEquals("com.example.bridge", lastCaller().toString());
    }

    @Test
    public void callingPackageIsIdentifiedWithinSharedUid() {
        CallingApp sister = app.sister("com.example.sister");
        sister.call(provider, SampleTools.CETP, "list_tools", null);
        assertEquals("com.example.sister", lastCaller().packageName());
        assertEquals(List.of("com.example.bridge", "com.example.sister"), lastCaller().packages());
        // Without a package, no app is identified.
        app.call(provider, SampleTools.CETP, "list_tools", null, null);
        assertNull(lastCaller().packageName());
        assertTrue(lastCaller().certificates().isEmpty());
    }

    @Test
    public void claimedPackageOfAnotherAppIsIgnored() {
        CallingApp.install("com.example.trusted");
        app.call(provider, SampleTools.CETP, "list_tools", null, "com.example.trusted");
        assertEquals("com.example.bridge", lastCaller().packageName());
    }

    @Test
    public void callerWithoutPackageHasNullPackage() {
        CallingApp.nameless().call(provider, SampleTools.CETP, "list_tools", null);
        assertNull(lastCaller().packageName());
        assertTrue(lastCaller().packages().isEmpty());
        assertTrue(lastCaller().toString().startsWith("uid "));
    }

    @Test
    public void certificatesIncludeCurrentAndEarlierOnes() {
        CallingApp.sign("com.example.bridge", "old", "new");
        app.call(provider, SampleTools.CETP, "list_tools", null);
        // Computed with sha256sum.
        String old = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4";
        String now = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437";
        assertEquals(List.of(now, old), lastCaller().certificates());
        CallingApp.signTogether("com.example.bridge", "old", "new");
        app.call(provider, SampleTools.CETP, "list_tools", null);
        assertEquals(List.of(now + "," + old), lastCaller().certificates());
        CallingApp.hideSigner("com.example.bridge");
        app.call(provider, SampleTools.CETP, "list_tools", null);
        assertTrue(lastCaller().certificates().isEmpty());
    }

    @Test
    public void serviceAndReceiverDoNothing() {
        ToolProviderService service =
                org.robolectric.Robolectric.buildService(ToolProviderService.class).create().get();
        assertNull(service.onBind(null));
        assertEquals(android.app.Service.START_NOT_STICKY, service.onStartCommand(null, 0, 1));
        assertTrue(org.robolectric.Shadows.shadowOf(service).isStoppedBySelf());
        new BootReceiver().onReceive(provider.getContext(), null);
        assertFalse(provider.declared > 0);
    }
}
