package dev.toolway.foreign;

import android.os.Bundle;
import android.os.Parcel;
import android.os.Parcelable;
import java.util.Arrays;

/** Answers that no provider should give, a class each. All of them list their tool as they should. */
public final class Hostile {
    private Hostile() {
    }

    /** Nothing. */
    public static class Nothing extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return null;
        }
    }

    /** A bundle with nothing in it. */
    public static class NoKeys extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return new Bundle();
        }
    }

    /** Success without data. */
    public static class NoData extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            Bundle bundle = success("");
            bundle.remove("data");
            return bundle;
        }
    }

    /** Keys of other types than they should be. */
    public static class WrongTypes extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            Bundle bundle = new Bundle();
            bundle.putInt("status", 200);
            bundle.putByteArray("data", new byte[] {1, 2, 3});
            return bundle;
        }
    }

    /** A value of a class that nobody else has. */
    public static class OwnClass extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            Bundle bundle = success("1");
            bundle.putParcelable("extra", new Own());
            return bundle;
        }
    }

    /** Of the class above; the other side can't unpack it. */
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

    /** Text that is not JSON. */
    public static class NoJson extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return success("{\"holdings\":[");
        }
    }

    /** Half of a character that takes two. */
    public static class HalfCharacter extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return success("\"a\ud83d\"");
        }
    }

    /** Ten megabytes. */
    public static class TenMegabytes extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            char[] text = new char[10 << 20];
            Arrays.fill(text, 'x');
            return success("\"" + new String(text) + "\"");
        }
    }

    /** The tool of another app. */
    public static class NotFound extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return error("TOOL_NOT_FOUND", "there is none");
        }
    }

    /** Too often. */
    public static class Limited extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return error("RATE_LIMITED", "not so fast");
        }
    }

    /** An argument that does not fit. */
    public static class Picky extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return error("INVALID_ARGS", "not like this");
        }
    }

    /** A code that the protocol does not know. */
    public static class UnknownCode extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            return error("TEAPOT", "short and stout");
        }
    }

    /** Its own name. */
    public static class IllegalArgument extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new IllegalArgumentException("Unknown authority, it says");
        }
    }

    /** Its own name. */
    public static class IllegalState extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new IllegalStateException("broken");
        }
    }

    /** Its own name. */
    public static class NullPointer extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new NullPointerException();
        }
    }

    /** Its own name. */
    public static class Security extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new SecurityException("not you");
        }
    }

    /** An exception of its own class, which can't be passed between processes. */
    public static class OwnException extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new RuntimeException("of my own") {
                private static final long serialVersionUID = 1;
            };
        }
    }

    /** An error, which ends the process. */
    public static class Fatal extends Scripted {
        @Override
        protected Bundle run(Bundle extras) {
            throw new StackOverflowError("too deep");
        }
    }
}
