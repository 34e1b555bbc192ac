package dev.toolway.host;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.content.ContentProviderClient;
import android.content.ContentResolver;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.phone.Manifests;
import dev.toolway.phone.Phone;
import dev.toolway.phone.PlainContentProviderClient;
import dev.toolway.phone.ProviderProcess;
import dev.toolway.phone.StrictContentResolver;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;
import org.robolectric.annotation.Implementation;
import org.robolectric.annotation.Implements;
import org.robolectric.shadows.ShadowContentResolver;

/** Tests starting a provider's process through the system. */
@RunWith(RobolectricTestRunner.class)
@Config(shadows = {StrictContentResolver.class, PlainContentProviderClient.class})
public class WakeTest {
    private static final String AUTHORITY = "com.example.finance.tools";
    private static final int DONE = 0;
    private static final int SECURITY = 1;
    private static final int THREW = 5;

    @Rule
    public final Phone phone = new Phone();

    private ProviderProcess install() {
        phone.install(Manifests.apk("com.example.finance", "Finance",
            Manifests.cetp(".S", FinanceByHand.class.getName(), AUTHORITY, "1")));
        return phone.process(AUTHORITY);
    }

    private Reader wake() {
        return new Reader(new ToolwayHost(phone.app()).wake(new Writer().text(AUTHORITY).toBytes()));
    }

    @Test
    public void a_process_is_started_if_the_system_supports_it() {
        ProviderProcess process = install();
        Reader reply = wake();
        assertEquals(DONE, reply.kind());
        assertTrue(reply.flag());
        assertEquals(1, process.starts());
        process.neverStarts();
        reply = wake();
        assertEquals(DONE, reply.kind());
        assertFalse(reply.flag());
    }

    @Test
    public void a_dying_provider_does_not_end_its_caller() {
        ProviderProcess process = install();
        process.diesOnceStarted();
        wake();
        assertEquals("it was started", 1, process.starts());
        assertEquals("the system ended the caller with it", 0, process.endedCallers());
    }

    @Test
    public void a_missing_permission_is_reported() {
        install();
        phone.deny(Phone.ACCESS_TOOLS);
        assertEquals(SECURITY, wake().kind());
    }

    /** A resolver that always fails. */
    @Implements(ContentResolver.class)
    public static class Broken extends ShadowContentResolver {
        @Implementation
        @Override
        protected ContentProviderClient acquireContentProviderClient(String authority) {
            throw new IllegalStateException("no more threads");
        }

        @Implementation
        @Override
        protected ContentProviderClient acquireUnstableContentProviderClient(String authority) {
            throw new IllegalStateException("no more threads");
        }
    }

    @Test
    @Config(shadows = Broken.class)
    public void what_the_system_throws_is_told_as_such() {
        Reader reply = wake();
        assertEquals(THREW, reply.kind());
        assertEquals("java.lang.IllegalStateException", reply.text());
        assertEquals("no more threads", reply.text());
    }
}
