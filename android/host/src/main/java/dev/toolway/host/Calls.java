package dev.toolway.host;

import android.content.ContentProviderClient;
import android.content.ContentResolver;
import android.net.Uri;
import android.os.Bundle;
import android.os.DeadObjectException;
import android.os.RemoteException;
import android.os.TransactionTooLargeException;

/**
 * Calls providers. Not by {@code ContentResolver.call}: that answers nothing at all where the provider's process dies,
 * and the system ends a caller's process together with that of a provider it holds. A client that counts as unstable
 * does neither.
 */
final class Calls {
    /** What the system says where arguments were passed and the answer, or anything else, could not be. */
    private static final String FAILED = "Transaction failed";

    private final ContentResolver resolver;

    Calls(ContentResolver resolver) {
        this.resolver = resolver;
    }

    /** One call, under no deadline of its own. */
    byte[] call(String authority, String method, Bundle extras) {
        ContentProviderClient client;
        try {
            client = resolver.acquireUnstableContentProviderClient(authority);
        } catch (SecurityException e) {
            return Replies.security(e);
        } catch (IllegalArgumentException e) {
            return Replies.unknownAuthority(authority);
        } catch (RuntimeException e) {
            return Replies.threw(e);
        }
        if (client == null) {
            return Replies.unknownAuthority(authority);
        }
        try {
            return answer(client.call(method, null, extras));
        } catch (SecurityException e) {
            return Replies.security(e);
        } catch (TransactionTooLargeException e) {
            return Replies.tooLarge(e);
        } catch (DeadObjectException e) {
            return lives(client, authority, e) ? Replies.tooLarge(e) : Replies.died(e);
        } catch (Writer.TooMuchException e) {
            return Replies.tooLarge(e);
        } catch (RemoteException | RuntimeException e) {
            return Replies.threw(e);
        } finally {
            client.close();
        }
    }

    private static byte[] answer(Bundle answer) {
        Writer reply = Replies.done().flag(answer != null);
        return answer == null ? reply.toBytes() : reply.bundle(answer).toBytes();
    }

    /**
     * Whether a provider still answers though Android says that it is dead. It says so, in these words, also where an
     * answer was too large to be passed; a question with a small answer tells which.
     */
    private static boolean lives(ContentProviderClient client, String authority, DeadObjectException e) {
        if (e.getMessage() == null || !e.getMessage().contains(FAILED)) {
            return false;
        }
        try {
            client.getType(new Uri.Builder().scheme(ContentResolver.SCHEME_CONTENT).authority(authority).build());
            return true;
        } catch (DeadObjectException again) {
            return false;
        } catch (RemoteException | RuntimeException thrown) {
            return true; // Somebody threw it.
        }
    }

    /** Makes the system start a provider's process. One that falls over as soon as it runs ends nobody else. */
    byte[] wake(String authority) {
        try (ContentProviderClient client = resolver.acquireUnstableContentProviderClient(authority)) {
            return Replies.done(client != null);
        } catch (SecurityException e) {
            return Replies.security(e);
        } catch (RuntimeException e) {
            return Replies.threw(e);
        }
    }
}
