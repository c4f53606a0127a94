import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Apache's command-line tools one after another in one JVM, since the start of one costs
 * seconds. The argument is a file with a line for each: name, class, standard input (its lines
 * parted by "|") and arguments, parted by tabs. Prints "=== name status" and what the tool printed.
 */
public class Tools {
    static final class Ended extends Error {
        Ended() {
            super("ended", null, false, false);
        }
    }

    /** The first status with which the running tool ended; some catch what then stops them. */
    static Integer ended;

    /** What the running tool wants done at the end of the JVM, and gets at its own. */
    static final List<Runnable> LAST_WORDS = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        Exit.Procedure end = (status, message) -> {
            if (ended == null) {
                ended = status;
            }
            throw new Ended();
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        Exit.setShutdownHookAdder((name, hook) -> LAST_WORDS.add(hook));
        PrintStream console = System.out;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split("\t", -1);
            ByteArrayOutputStream said = new ByteArrayOutputStream();
            int status = run(words, said);
            console.println("=== " + words[0] + " " + status);
            console.println(said.toString(StandardCharsets.UTF_8));
        }
        console.flush();
        // Tools that have ended still have shutdown hooks, which would wait for what is over.
        Runtime.getRuntime().halt(0);
    }

    static int run(String[] words, ByteArrayOutputStream said) throws Exception {
        String input = words[2].replace('|', '\n');
        InputStream bytes = new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8));
        PrintStream both = new PrintStream(said, true, StandardCharsets.UTF_8);
        System.setIn(bytes);
        System.setOut(both);
        System.setErr(both);
        String[] rest = Arrays.copyOfRange(words, 3, words.length);
        ended = null;
        try {
            Class.forName(words[1]).getMethod("main", String[].class).invoke(null, (Object) rest);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                thrown.getCause().printStackTrace(both);
                ended = 1;
            }
        }
        LAST_WORDS.forEach(Runnable::run);
        LAST_WORDS.clear();
        return ended == null ? 0 : ended;
    }
}
