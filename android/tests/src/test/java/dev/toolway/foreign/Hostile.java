package dev.toolway.foreign;

import android.os.Bundle;
import android.os.Parcel;
import android.os.Parcelable;
import java.util.Arrays;

/** Invalid answers, one class each. All list their tool correctly. */
public final class Hostile {
    private Hostile() {
    }

    /** Returns null. */
    public static class Nothing extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return null;
        }
    }

    /** Returns an empty bundle. */
    public static class NoKeys extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return new Bundle();
        }
    }

    /** Returns success without data. */
    public static class NoData extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            Bundle bundle = success("");
            bundle.remove("data");
            return bundle;
        }
    }

    /** Returns keys of wrong types. */
    public static class WrongTypes extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            Bundle bundle = new Bundle();
            bundle.putInt("status", 200);
            bundle.putByteArray("data", new byte[] {1, 2, 3});
            return bundle;
        }
    }

    /** Returns a value of a class that only this app has. */
    public static class OwnClass extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            Bundle bundle = success("1");
            bundle.putParcelable("extra", new Own());
            return bundle;
        }
    }

    /** A value that the other side can't unpack. */
    public static final class Own implements Parcelable {
        @Override
        public int describeContents() {
            return 0;
        }

        @Override
        public void writeToParcel(Parcel to, int flags) {
            to.writeInt(1);
        }
    }

    /** Returns invalid JSON. */
    public static class NoJson extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return success("{\"holdings\":[");
        }
    }

    /** Returns an unpaired surrogate. */
    public static class HalfCharacter extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return success("\"a\ud83d\"");
        }
    }

    /** Returns ten megabytes. */
    public static class TenMegabytes extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            char[] text = new char[10 << 20];
            Arrays.fill(text, 'x');
            return success("\"" + new String(text) + "\"");
        }
    }

    /** Returns TOOL_NOT_FOUND. */
    public static class NotFound extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return error("TOOL_NOT_FOUND", "there is none");
        }
    }

    /** Returns RATE_LIMITED. */
    public static class Limited extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return error("RATE_LIMITED", "not so fast");
        }
    }

    /** Returns INVALID_ARGS. */
    public static class Picky extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return error("INVALID_ARGS", "not like this");
        }
    }

    /** Returns an unknown error code. */
    public static class UnknownCode extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return error("TEAPOT", "short and stout");
        }
    }

    /** Throws the exception of its name. */
    public static class IllegalArgument extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new IllegalArgumentException("Unknown authority, it says");
        }
    }

    /** Throws the exception of its name. */
    public static class IllegalState extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new IllegalStateException("broken");
        }
    }

    /** Throws the exception of its name. */
    public static class NullPointer extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new NullPointerException();
        }
    }

    /** Throws the exception of its name. */
    public static class Security extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new SecurityException("not you");
        }
    }

    /** Throws an exception of its own class, which can't be passed between processes. */
    public static class OwnException extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new RuntimeException("of my own") {
                private static final long serialVersionUID = 1;
            };
        }
    }

    /** Throws an Error, which ends the process. */
    public static class Fatal extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new StackOverflowError("too deep");
        }
    }
}
