import atomvet.steps.Gate;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Vector;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * The papers' driver for a class of the JDK: two instances, and for each pair of methods two threads, of which one calls
 * the one method on the one instance and the other the other on the other. A method that takes such an object gets the other
 * instance; pairs in which both do are left out, because they may deadlock. Constructors that copy count as methods.
 *
 * <pre>java Pairs java.util.Vector ROUNDS</pre>
 */
public class Pairs {
    private final Class<?> type;

    Pairs(Class<?> type) {
        this.type = type;
    }

    private Object instance() throws ReflectiveOperationException {
        Object made = type.getConstructor().newInstance();
        if (made instanceof Vector) {
            @SuppressWarnings("unchecked")
            Vector<Object> vector = (Vector<Object>) made;
            vector.add("a");
            vector.add("b");
            vector.add("c");
        } else if (made instanceof Hashtable) {
            @SuppressWarnings("unchecked")
            Hashtable<Object, Object> table = (Hashtable<Object, Object>) made;
            table.put("a", "1");
            table.put("b", "2");
        } else {
            ((StringBuffer) made).append("abc");
        }
        return made;
    }

    private List<Executable> methods() {
        List<Executable> methods = new ArrayList<>();
        for (Method method : type.getMethods()) {
            boolean object = method.getDeclaringClass() == Object.class;
            if (!object && !Modifier.isStatic(method.getModifiers()) && !method.isSynthetic()) {
                methods.add(method);
            }
        }
        for (Constructor<?> constructor : type.getConstructors()) {
            if (takesOther(constructor)) {
                methods.add(constructor);
            }
        }
        methods.sort(Comparator.comparing(Executable::toString));
        return methods;
    }

    /** Whether a method is given the other instance. */
    private boolean takesOther(Executable method) {
        for (Class<?> parameter : method.getParameterTypes()) {
            if (isOther(method, parameter)) {
                return true;
            }
        }
        return false;
    }

    private boolean isOther(Executable method, Class<?> parameter) {
        return parameter.isAssignableFrom(type) && (parameter != Object.class || method.getName().equals("equals"));
    }

    private Object[] arguments(Executable method, Object other) {
        Class<?>[] types = method.getParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            arguments[i] = isOther(method, types[i]) ? other : argument(types[i], i);
        }
        return arguments;
    }

    private static Object argument(Class<?> type, int place) {
        if (type == int.class) {
            return place;
        } else if (type == long.class) {
            return 1L;
        } else if (type == char.class) {
            return 'x';
        } else if (type == boolean.class) {
            return true;
        } else if (type == float.class) {
            return 1f;
        } else if (type == double.class) {
            return 1d;
        } else if (type == Object.class || type == String.class || type == CharSequence.class) {
            return "b";
        } else if (type == char[].class) {
            return new char[] {'x', 'y', 'z', 'u'};
        } else if (type == Object[].class) {
            return new Object[8];
        } else if (type == Collection.class || type == List.class) {
            return new ArrayList<>(List.of("a", "x"));
        } else if (type == Map.class) {
            return Map.of("x", "3");
        } else if (type == StringBuffer.class) {
            return new StringBuffer("xy");
        } else if (type == Comparator.class) {
            return Comparator.comparing(Object::toString);
        } else if (type == Predicate.class) {
            return (Predicate<Object>) "b"::equals;
        } else if (type == UnaryOperator.class) {
            return (UnaryOperator<Object>) given -> given;
        } else if (type == Function.class) {
            return (Function<Object, Object>) given -> "4";
        } else if (type == BiFunction.class) {
            return (BiFunction<Object, Object, Object>) (first, second) -> "5";
        } else if (type == Consumer.class) {
            return (Consumer<Object>) given -> { };
        } else if (type == BiConsumer.class) {
            return (BiConsumer<Object, Object>) (first, second) -> { };
        } else if (type == IntFunction.class) {
            return (IntFunction<Object[]>) Object[]::new;
        }
        return null;
    }

    private void call(Executable method, Object object, Object other) {
        try {
            if (method instanceof Constructor) {
                ((Constructor<?>) method).newInstance(arguments(method, other));
            } else {
                ((Method) method).invoke(object, arguments(method, other));
            }
        } catch (InvocationTargetException exception) {
            // Some methods do not like what they are given.
        } catch (ReflectiveOperationException exception) {
            throw new IllegalStateException(exception);
        }
    }

    private int pairs(int rounds) throws ReflectiveOperationException, InterruptedException {
        List<Executable> methods = methods();
        int pairs = 0;
        for (Executable one : methods) {
            for (Executable two : methods) {
                if (takesOther(one) && takesOther(two)) {
                    continue;
                }
                pairs++;
                for (int round = 0; round < rounds; round++) {
                    Object first = instance();
                    Object second = instance();
                    Gate.both(() -> call(one, first, second), () -> call(two, second, first));
                }
            }
        }
        return pairs;
    }

    public static void main(String[] arguments) throws Exception {
        Pairs pairs = new Pairs(Class.forName(arguments[0]));
        System.out.println(arguments[0] + ": " + pairs.methods().size() + " methods, " + pairs.pairs(Integer.parseInt(arguments[1])) + " pairs");
    }
}
