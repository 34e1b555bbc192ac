package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.os.Build;
import android.os.Bundle;
import android.os.Parcel;
import android.os.Parcelable;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.HashMap;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;

/** Tests extras that fail when they are unpacked: the answer is an error, and the process survives. */
@RunWith(RobolectricTestRunner.class)
public class HostileExtrasTest {
    private final SampleTools provider = SampleTools.start();
    private final CallingApp app = CallingApp.install("com.example.bridge");

    /** Has no CREATOR, so the framework throws the error for an unknown class. */
    @SuppressWarnings("ParcelCreator")
    private static class Unknown implements Parcelable {
        @Override
        public int describeContents() {
            return 0;
        }

        @Override
        public void writeToParcel(Parcel parcel, int flags) {}
    }

    private static final class Deep extends Unknown {
        public static final Creator<Deep> CREATOR = new Creator<>() {
            @Override
            public Deep createFromParcel(Parcel parcel) {
                throw new StackOverflowError("too deep");
            }

            @Override
            public Deep[] newArray(int size) {
                return new Deep[size];
            }
        };
    }

    private static final class Broken implements Serializable {
        private static final long serialVersionUID = 1L;

        private void readObject(ObjectInputStream in) throws IOException {
            throw new IOException("broken");
        }
    }

    private void isRefused(Bundle extras) {
        Bundle cetp = app.call(provider, SampleTools.CETP, "execute_tool", extras);
        assertEquals("error", cetp.getString("status"));
        assertEquals(cetp.getString("error_message"), "INVALID_ARGS", cetp.getString("error_code"));
        Bundle mcp = app.call(provider, SampleTools.MCP, "execute_tool", extras);
        assertFalse(mcp.getBoolean("success", true));
        assertTrue(mcp.getString("error_message").length() > 5);
    }

    private static Bundle withTool(String name) {
        Bundle extras = new Bundle();
        extras.putString("tool_name", name);
        return extras;
    }

    @Test
    public void unreadableExtrasAreRefused() {
        for (Parcelable hostile : new Parcelable[] {new Unknown(), new Deep()}) {
            Bundle extras = new Bundle();
            extras.putParcelable("tool_name", hostile);
            isRefused(extras);
            extras = withTool("add");
            extras.putParcelable("args", hostile);
            extras.putParcelable("tool_arguments", hostile);
            isRefused(extras);
        }
        Bundle extras = withTool("add");
        extras.putSerializable("args", new Broken());
        extras.putSerializable("tool_arguments", new Broken());
        isRefused(extras);
    }

    @Test
    public void mapWithUnreadableValueIsRefused() {
        HashMap<String, Object> map = new HashMap<>();
        map.put("a", new Unknown());
        Bundle extras = withTool("add");
        extras.putSerializable("tool_arguments", map);
        Bundle mcp = app.call(provider, SampleTools.MCP, "execute_tool", extras);
        assertFalse(mcp.getBoolean("success", true));
    }

    /** Newer Android versions unpack only accessed values; older ones unpack everything and the call fails. */
    @Test
    public void unreadExtrasAreHarmless() {
        Bundle extras = withTool("echo");
        extras.putParcelable("something", new Unknown());
        Bundle answer = app.call(provider, SampleTools.CETP, "execute_tool", extras);
        if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.TIRAMISU) {
            assertEquals("success", answer.getString("status"));
        } else {
            assertEquals("INVALID_ARGS", answer.getString("error_code"));
        }
        assertEquals("success", app.call(provider, SampleTools.CETP, "list_tools", extras).getString("status"));
    }

    @Test
    public void wrongTypeIsReported() {
        Bundle extras = new Bundle();
        extras.putInt("tool_name", 5);
        assertEquals(
                "tool_name must be a string",
                app.call(provider, SampleTools.CETP, "execute_tool", extras).getString("error_message"));
        extras = withTool("echo");
        extras.putBundle("args", new Bundle());
        assertEquals(
                "args must be a string",
                app.call(provider, SampleTools.CETP, "execute_tool", extras).getString("error_message"));
        extras = withTool("echo");
        extras.putString("tool_name", null);
        assertEquals(
                "missing tool_name",
                app.call(provider, SampleTools.CETP, "execute_tool", extras).getString("error_message"));
        extras = withTool("echo");
        extras.putLong("request_id", 7);
        assertEquals(
                "request_id must be a string",
                app.call(provider, SampleTools.CETP, "execute_tool", extras).getString("error_message"));
    }

    /** A denied caller gets no details about its request. */
    @Test
    public void accessIsDecidedBeforeArguments() {
        provider.access = Access.deny("not for you");
        Bundle extras = new Bundle();
        extras.putParcelable("tool_name", new Unknown());
        Bundle answer = app.call(provider, SampleTools.CETP, "execute_tool", extras);
        assertEquals("PERMISSION_DENIED", answer.getString("error_code"));
        assertEquals("not for you", answer.getString("error_message"));
    }
}
