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
 * What stands for the process of one provider: everything goes through the framework's own proxy and parcels, with the
 * limit on their size, and it can die, refuse to start, and be counted.
 */
public final class ProviderProcess {
    /** What a process has for all the transactions that are under way. */
    static final int BUFFER = 1 << 20;
    /** Up to here the system takes a failure for one that has nothing to do with size. */
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

    /** It ends, and will be started again when somebody wants it. */
    public synchronized void kill() {
        provider = null;
    }

    /** Some vendors' systems start no process for a provider: then nobody serves the authority. */
    public synchronized void neverStarts() {
        kill();
        startable = false;
    }

    /** It starts again. */
    public synchronized void startsAgain() {
        startable = true;
    }

    /** It ends, and is not started for the next who want it, so many of them. */
    public synchronized void refusesStarts(int count) {
        kill();
        startsRefused = count;
    }

    /** It ends, and from now on dies as soon as it is started, while whoever wanted it holds it. */
    public synchronized void diesOnceStarted() {
        kill();
        diesOnceStarted = true;
    }

    /** It dies in the middle of the next so many transactions: after its code ran, before the answer is there. */
    public void diesInNextTransactions(int count) {
        dyingTransactions.set(count);
    }

    /** How many times it was started. */
    public int starts() {
        return starts.get();
    }

    /** How many times somebody wanted to reach it. */
    public int wanted() {
        return wanted.get();
    }

    /** How many transactions have reached it. */
    public int transactions() {
        return transactions.get();
    }

    /** How many times the system ended a caller with it, because that held it by a client that counts as stable. */
    public int endedCallers() {
        return endedCallers.get();
    }

    /** Its code, to be looked at by a test. */
    public synchronized ContentProvider provider() {
        return started() ? provider : null;
    }

    /** What a client holds; nothing where no process could be started. */
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

    /** It dies while a caller holds it. */
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

    /** The kernel's driver: between the proxy on one side and the provider on the other. */
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
         * Exceptions that parcels have a number for are passed on. Of others the system says in its log that they are
         * not supported across processes, and the answer stays empty; an error ends the process.
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

        /** As `signalExceptionForError` in `android_util_Binder.cpp`: the size looked at is always the arguments'. */
        private RemoteException failed(int size) {
            return size > SMALL ? new TransactionTooLargeException("data parcel size " + size + " bytes")
                : new DeadObjectException("Transaction failed on small parcel; remote process probably died, but this "
                    + "could also be caused by running out of binder buffer space");
        }

        /** Who calls is read from the parcel, which from API 31 on is only done within a transaction. */
        private void actsForItself() {
            if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.S) {
                ReflectionHelpers.callStaticMethod(Binder.class, "setIsDirectlyHandlingTransactionOverride",
                    ClassParameter.from(boolean.class, true));
            }
        }
    }

    /** The provider's app, as its own code sees it. What it stores lies with everything else of this run. */
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
