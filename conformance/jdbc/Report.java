import java.util.Objects;

/** What a check is, and the lines that tell how it went. */
final class Report {
    /** A check; it passes when it throws nothing. */
    interface Check {
        void run() throws Exception;
    }

    /** What a check throws that cannot be made with this client, with the reason. */
    static final class Skip extends Exception {
        private static final long serialVersionUID = 1;

        Skip(String reason) {
            super(reason);
        }
    }

    private static final int REASON_MAX = 400;
    private boolean hasFailed;

    boolean hasFailed() {
        return hasFailed;
    }

    void check(String name, Check body) {
        long start = System.nanoTime();
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Skip skip) {
            System.out.println("skip " + name + ": " + skip.getMessage());
        } catch (Exception | AssertionError | OutOfMemoryError error) {
            hasFailed = true;
            String reason = String.valueOf(error).replaceAll("\\s+", " ");
            System.out.println("FAIL " + name + ": " + reason.substring(0, Math.min(reason.length(), REASON_MAX)));
            error.printStackTrace();
        }
        System.err.println(name + ": " + (System.nanoTime() - start) / 1_000_000 + " ms");
        System.out.flush();
    }

    static void same(String what, Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError(what + ": found <" + cut(found) + ">, expected <" + cut(expected) + ">");
        }
    }

    static void truth(String what, boolean holds) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static String cut(Object value) {
        String text = String.valueOf(value);
        return text.length() < 120 ? text : text.substring(0, 120) + "…";
    }
}
