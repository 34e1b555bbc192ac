package dev.toolway.phone;

import android.content.ContentProvider;
import android.content.Context;
import android.content.ContextWrapper;
import android.content.IContentProvider;
import android.content.pm.ApplicationInfo;
import android.content.pm.ProviderInfo;
import android.os.Binder;
import android.os.Build;
import android.os.DeadObjectException;
import android.os.IBinder;
import android.os.Parcel;
import android.os.RemoteException;
import android.os.TransactionTooLargeException;
import java.util.concurrent.atomic.AtomicInteger;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.util.ReflectionHelpers;
import org.robolectric.util.ReflectionHelpers.ClassParameter;

/**
 * Simulates the process of one provider. All data passes through the framework's proxy and parcels, with the
 * limit on their size. The process can die or fail to start, and its uses are counted.
 */
public final class ProviderProcess {
    /** Buffer of a process for all running transactions. */
    static final int BUFFER = 1 << 20;
    /** Up to this size, the system does not treat a failure as one of size. */
    private static final int SMALL = 200 * 1024;

    private final ProviderInfo info;
    private final AtomicInteger starts = new AtomicInteger();
    private final AtomicInteger transactions = new AtomicInteger();
    private final AtomicInteger wanted = new AtomicInteger();
    private ContentProvider provider;
    private boolean startable = true;
    private int startsRefused;
    private boolean diesOnceStarted;
    private final AtomicInteger endedCallers = new AtomicInteger();
    private final AtomicInteger dyingTransactions = new AtomicInteger();

    ProviderProcess(ProviderInfo info) {
        this.info = info;
    }

    /** Ends the process; the next use starts it again. */
    public synchronized void kill() {
        provider = null;
    }

    /** Prevents starts, like some vendors' systems: then the authority has no provider. */
    public synchronized void neverStarts() {
        kill();
        startable = false;
    }

    /** Allows starts again. */
    public synchronized void startsAgain() {
        startable = true;
    }

    /** Ends the process, and fails this number of starts. */
    public synchronized void refusesStarts(int count) {
        kill();
        startsRefused = count;
    }

    /** Ends the process. From now on it dies right after each start, while the caller holds it. */
    public synchronized void diesOnceStarted() {
        kill();
        diesOnceStarted = true;
    }

    /** Makes it die in this number of transactions: after its code ran, before the answer arrives. */
    public void diesInNextTransactions(int count) {
        dyingTransactions.set(count);
    }

    /** Number of starts. */
    public int starts() {
        return starts.get();
    }

    /** Number of attempts to use it. */
    public int wanted() {
        return wanted.get();
    }

    /** Number of transactions. */
    public int transactions() {
        return transactions.get();
    }

    /** Number of callers that the system ended with it, because they held a stable client. */
    public int endedCallers() {
        return endedCallers.get();
    }

    /** Returns the provider object for a test. */
    public synchronized ContentProvider provider() {
        return started() ? provider : null;
    }

    /** Returns the binder for a client; null if no process could be started. */
    IContentProvider connect(boolean stable) {
        wanted.incrementAndGet();
        IBinder gate;
        synchronized (this) {
            if (!started()) {
                return null;
            }
            IContentProvider transport = ReflectionHelpers.callInstanceMethod(provider, "getIContentProvider");
            gate = new Gate(provider, transport.asBinder(), stable);
            if (diesOnceStarted) {
                dies(stable);
            }
        }
        try {
            Class<?> proxy = Class.forName("android.content.ContentProviderProxy");
            return (IContentProvider) ReflectionHelpers.callConstructor(proxy,
                ClassParameter.from(IBinder.class, gate));
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    /** Dies while a caller holds it. */
    private void dies(boolean heldByStableClient) {
        kill();
        if (heldByStableClient) {
            endedCallers.incrementAndGet();
        }
    }

    private boolean started() {
        if (provider != null) {
            return true;
        }
        if (startsRefused > 0) {
            startsRefused--;
            return false;
        }
        if (!startable) {
            return false;
        }
        try {
            provider = (ContentProvider) Class.forName(info.name).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
        starts.incrementAndGet();
        provider.attachInfo(new AppContext(RuntimeEnvironment.getApplication(), info.applicationInfo), info);
        return true;
    }

    private synchronized boolean isRunning(ContentProvider asked) {
        return provider == asked;
    }

    /** Simulates the kernel's driver between the proxy and the provider. */
    private final class Gate extends Binder {
        private final ContentProvider asked;
        private final IBinder transport;
        private final boolean stable;

        Gate(ContentProvider asked, IBinder transport, boolean stable) {
            this.asked = asked;
            this.transport = transport;
            this.stable = stable;
        }

        @Override
        protected boolean onTransact(int code, Parcel data, Parcel reply, int flags) throws RemoteException {
            if (!isRunning(asked)) {
                throw new DeadObjectException();
            }
            if (data.dataSize() > BUFFER) {
                throw failed(data.dataSize());
            }
            transactions.incrementAndGet();
            actsForItself();
            boolean known = answered(code, data, reply, flags);
            if (dyingTransactions.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                dies(stable);
            }
            if (!isRunning(asked)) {
                throw new DeadObjectException();
            }
            if (reply != null && reply.dataSize() > BUFFER) {
                throw failed(data.dataSize());
            }
            return known;
        }

        /**
         * Passes on exceptions with a number in parcels. The system logs for others that they are
         * not supported across processes, and the answer stays empty. An Error ends the process.
         */
        private boolean answered(int code, Parcel data, Parcel reply, int flags) throws RemoteException {
            try {
                return transport.transact(code, data, reply, flags);
            } catch (RuntimeException e) {
                reply.setDataSize(0);
                reply.setDataPosition(0);
                return true;
            } catch (Error e) {
                dies(stable);
                throw new DeadObjectException();
            }
        }

        /** Like `signalExceptionForError` in `android_util_Binder.cpp`: checks only the size of the arguments. */
        private RemoteException failed(int size) {
            return size > SMALL ? new TransactionTooLargeException("data parcel size " + size + " bytes")
                : new DeadObjectException("Transaction failed on small parcel; remote process probably died, but this "
                    + "could also be caused by running out of binder buffer space");
        }

        /** Sets the caller from the parcel; from API 31 only within a transaction. */
        private void actsForItself() {
            if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.S) {
                ReflectionHelpers.callStaticMethod(Binder.class, "setIsDirectlyHandlingTransactionOverride",
                    ClassParameter.from(boolean.class, true));
            }
        }
    }

    /** Context of the provider's app. Its files are in this run's folder. */
    private static final class AppContext extends ContextWrapper {
        private final ApplicationInfo app;

        AppContext(Context base, ApplicationInfo app) {
            super(base);
            this.app = app;
        }

        @Override
        public String getPackageName() {
            return app.packageName;
        }

        @Override
        public ApplicationInfo getApplicationInfo() {
            return app;
        }

        @Override
        public Context getApplicationContext() {
            return this;
        }
    }
}
