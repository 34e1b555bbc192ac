package dev.toolway.host;

import android.content.ContentProviderClient;
import android.content.ContentResolver;
import android.net.Uri;
import android.os.Bundle;
import android.os.DeadObjectException;
import android.os.RemoteException;
import android.os.TransactionTooLargeException;

/**
 * Calls providers through an unstable client. {@code ContentResolver.call} returns no error if the provider's process
 * dies, and the system would kill the caller's process together with that of a provider it holds.
 */
final class Calls {
    /** Message of the system if the arguments were passed, but the answer or something else could not be. */
    private static final String FAILED = "Transaction failed";

    private final ContentResolver resolver;

    Calls(ContentResolver resolver) {
        this.resolver = resolver;
    }

    /** Makes one call without a timeout. */
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
     * Returns true if a provider responds although Android reports it as dead. Android reports the same for an answer
     * that was too large; a request with a small answer distinguishes the two.
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

    /** Makes the system start a provider's process. If that process crashes, no other one is killed. */
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
